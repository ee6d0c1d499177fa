// Asynchronous copies of tiles from global to shared memory, for CUDA. The host device has its own
// in host_primitives.h. Tile number n of a block is in stage n % Stages.
#pragma once

__device__ __forceinline__ unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// Each thread copies the vectors of a tile that it reads itself (cp.async), so it needs no barrier.
// Every thread commits once per tile, also if the tile has no copy.
template <int Stages>
struct ThreadCopies {
  // Starts the copy of a vector of N elements.
  template <int N, class T>
  __device__ __forceinline__ void copy(T* shared, const T* from) const {
    constexpr int kBytes = N * static_cast<int>(sizeof(T));
    static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async has these sizes");
    if constexpr (kBytes == 16)  // bypasses L1
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)),
                   "l"(from)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(shared)),
                   "l"(from), "n"(kBytes)
                   : "memory");
  }
  __device__ __forceinline__ void commit() const {
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  // Waits for the oldest of the thread's last Stages commits.
  __device__ __forceinline__ void await() const {
    asm volatile("cp.async.wait_group %0;" ::"n"(Stages - 1) : "memory");
  }
};

// One thread copies the whole tile (cp.async.bulk), and an mbarrier per stage counts the bytes. Its
// phases alternate, so the number of a tile tells which of them to wait for.
template <int Stages>
struct BulkCopies {
  unsigned barriers;

  // `memory`: 8 bytes per stage.
  __device__ __forceinline__ explicit BulkCopies(unsigned char* memory)
      : barriers(shared_address(memory)) {
    if (issues()) {
#pragma unroll
      for (int stage = 0; stage < Stages; ++stage)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + stage * 8)
                     : "memory");
      // Orders the initialization before the copies, which use the barriers in the async proxy.
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    synchronize();  // earlier code may have used the same shared memory
  }
  // True in the thread that makes the copies.
  __device__ __forceinline__ bool issues() const { return threadIdx.x == 0; }
  // The copies of tile `number` have `bytes` bytes altogether.
  __device__ __forceinline__ void expect(int number, int bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier(number)),
                 "r"(bytes)
                 : "memory");
  }
  // Starts a copy of `count` elements, a multiple of 16 bytes, for tile `number`.
  template <class T>
  __device__ __forceinline__ void copy(int number, T* shared, const T* from, int count) const {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(shared)),
        "l"(from), "r"(count * static_cast<int>(sizeof(T))), "r"(barrier(number))
        : "memory");
  }
  // Waits for the copies of tile `number`.
  __device__ __forceinline__ void await(int number) const {
    unsigned is_done = 0;
    do {
      asm volatile(
          "{ .reg .pred done;"
          " mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2; selp.u32 %0, 1, 0, done; }"
          : "=r"(is_done)
          : "r"(barrier(number)), "r"(static_cast<unsigned>(number / Stages) & 1)
          : "memory");
    } while (is_done == 0);
  }
  // All threads have read the tile, so its stage may be filled again.
  __device__ __forceinline__ void release() const { synchronize(); }

  __device__ __forceinline__ unsigned barrier(int number) const {
    return barriers + static_cast<unsigned>(number % Stages) * 8;
  }
  // A barrier that also orders accesses before it, in the generic proxy, before copies behind it, in
  // the async proxy. Without the fence, a load may still be in flight when a copy overwrites its data.
  static __device__ __forceinline__ void synchronize() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
  }
};
