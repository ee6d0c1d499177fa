// The kernels that measure the planner's constants, in the subset of CUDA C++ that the host device
// also runs.
#pragma once

#include <cstdint>

#include "codegen/text/source.h"

namespace sinter::constants {

/// Threads of a block, unless a kernel has another number.
inline constexpr int kThreads = 256;
/// Floats of a vector, of 16 bytes.
inline constexpr int kVector = 4;
/// Vectors that a thread of the copies moves at a time.
inline constexpr int kUnroll = 4;
/// Vectors that a block of the copies moves at a time.
inline constexpr std::int64_t kVectorsPerBlock = kThreads * kUnroll;
/// Bytes of a resident tile. Every known GPU has as much shared memory per block.
inline constexpr std::int64_t kTileBytes = 48 << 10;

/// nothing(unsigned* to): writes nothing.
Source nothing_kernel();
/// grid_barriers(unsigned* arrivals, int count). `arrivals` must be 0; an even count keeps it so.
Source grid_barriers_kernel();
/// cluster_barriers(int count), in clusters of `cluster` blocks.
Source cluster_barriers_kernel(int cluster);
/// copy(const float* from, float* to, long long vectors): each block copies kVectorsPerBlock.
Source copy_kernel();
/// staying_copy(…): the same work, but the blocks of a cooperative launch take it piece by piece.
Source staying_copy_kernel();
/// write(float* to, long long vectors): each block writes kVectorsPerBlock.
Source write_kernel();
/// read(const float* from, float* to, long long vectors): resident blocks read all vectors. Each
/// thread has `loads` of them in flight.
Source read_kernel(int threads, int loads);
/// tile_copies(const float* from, float* to, int rounds): each block copies a tile to shared memory
/// in each round, and reads one element per thread.
Source tile_copies_kernel();
/// tile_work(float* to, int rounds): each round updates the tile in shared memory.
Source tile_work_kernel();

}  // namespace sinter::constants
