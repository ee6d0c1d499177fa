// Copies of tiles from global to shared memory, for the host device. The copies are complete when
// they are started, so only the meetings of threads are left.
#pragma once

#include "codegen/device/host_primitives.h"

template <int Stages>
struct ThreadCopies {
  template <int N, class T>
  __device__ __forceinline__ void copy(T* shared, const T* from,
                                       int site = __builtin_LINE()) const {
    SINTER_TOUCH(from, N * sizeof(T), site, false);
    __builtin_memcpy(shared, from, N * sizeof(T));
  }
  __device__ __forceinline__ void commit() const {}
  __device__ __forceinline__ void await() const {}
};

template <int Stages>
struct BulkCopies {
  __device__ __forceinline__ explicit BulkCopies(unsigned char*) {}
  __device__ __forceinline__ bool issues() const { return threadIdx.x == 0; }
  __device__ __forceinline__ void expect(int, int) const {}
  template <class T>
  __device__ __forceinline__ void copy(int, T* shared, const T* from, int count,
                                       int site = __builtin_LINE()) const {
    SINTER_TOUCH(from, static_cast<unsigned>(count * sizeof(T)), site, false);
    __builtin_memcpy(shared, from, count * sizeof(T));
  }
  // The thread that copies comes last if the others arrive first.
  __device__ __forceinline__ void await(int) const { block_barrier(); }
  __device__ __forceinline__ void release() const { block_barrier(); }
};
