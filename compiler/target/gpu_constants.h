// Figures that all GPUs have in common.
#pragma once

namespace sinter {

/// Threads that run in step.
inline constexpr int kWarp = 32;
/// What memory moves at once: a sector.
inline constexpr int kSectorBytes = 32;
/// What one bank of shared memory has at a time.
inline constexpr int kWordBytes = 4;
/// Blocks of a cluster that any GPU with clusters can run (CUDA C++ Programming Guide).
inline constexpr int kPortableCluster = 8;

}  // namespace sinter
