// Constants that are the same for all supported GPUs.
#pragma once

#include <cstddef>

namespace sinter {

/// Threads of a warp.
inline constexpr int kWarp = 32;
/// Bytes of a sector, the unit of memory transfers.
inline constexpr int kSectorBytes = 32;
/// Bytes that one bank of shared memory delivers at a time.
inline constexpr int kWordBytes = 4;
/// Cluster size, in blocks, that every GPU with clusters supports (CUDA C++ Programming Guide).
inline constexpr int kPortableCluster = 8;
/// Bytes that the parameters of a kernel may have with every driver. Drivers since CUDA 12.1 permit
/// 32,764 (CUDA C++ Programming Guide, "__global__ Function Parameters").
inline constexpr std::size_t kMaxParameterBytes = 4096;

}  // namespace sinter
