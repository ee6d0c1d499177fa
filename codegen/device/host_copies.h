// Copies of tiles from global to shared memory, for the host device. The copies are complete when
// they are started, so only the meetings of threads are left.
#pragma once

#include "codegen/device/host_primitives.h"

template <int Stages>
struct ThreadCopies {
  template <int N, class T>
  __device__ __forceinline__ void copy(T* tile, const T* from, int site = __builtin_LINE()) const {
    const T* const mine = from + threadIdx.x * N;
    SINTER_TOUCH(mine, N * sizeof(T), site, false);
    __builtin_memcpy(tile + threadIdx.x * N, mine, N * sizeof(T));
  }
  __device__ __forceinline__ void commit() const {}
  __device__ __forceinline__ void await() const {}
};

template <int Stages, int Threads>
struct BulkCopies {
  __device__ __forceinline__ explicit BulkCopies(unsigned char*) {}
  __device__ __forceinline__ bool issues() const { return threadIdx.x == 0; }
  template <int Bytes>
  __device__ __forceinline__ void expect(int) const {}
  template <int N, class T>
  __device__ __forceinline__ void copy(int, T* tile, const T* from,
                                       int site = __builtin_LINE()) const {
    SINTER_TOUCH(from, Threads * N * sizeof(T), site, false);
    __builtin_memcpy(tile, from, Threads * N * sizeof(T));
  }
  // The thread that copies comes last if the others arrive first.
  __device__ __forceinline__ void await(int) const { block_barrier(); }
  __device__ __forceinline__ void release() const { block_barrier(); }
};
