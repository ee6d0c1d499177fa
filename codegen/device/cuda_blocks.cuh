// Primitives that the blocks of a launch share, for CUDA: fences, tickets, flags, clusters, and the
// barrier of a cooperative grid. The host device has its own in host_primitives.h.
#pragma once

// ---- Fences and tickets ----

// Orders the memory accesses of the calling thread for all threads of the GPU. By the PTX memory
// model (sm_70 and later), a fence before an atomic store or addition makes a release pattern. An
// atomic load or addition before a fence makes an acquire pattern. If it reads the released value,
// accesses before the first fence are visible after the second. Causality order includes block
// barriers, so one thread can fence for its block. Every use here belongs to such a pair, so
// `acq_rel` suffices. The stronger __threadfence() is `fence.sc`, a MEMBAR.SC, not a MEMBAR.ALL.
__device__ __forceinline__ void gpu_fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// True only in the block that arrives last. The workspace stores of every block are visible to it.
// `kHasMet`: since its last barrier, only thread 0 of the block has accessed memory that other
// blocks access.
template <bool kHasMet = false>
__device__ __forceinline__ bool last_block(unsigned* ticket, unsigned blocks) {
  if constexpr (!kHasMet) __syncthreads();
  int is_last = 0;
  if (threadIdx.x == 0) {
    // A barrier orders the stores of this block's threads before the fence, and the fence orders
    // them before the ticket. In the last block, the second fence orders the ticket before its
    // loads. The other blocks read nothing that another block has stored, so they need one fence.
    gpu_fence();
    is_last = atomicAdd(ticket, 1u) + 1 == blocks;
    if (is_last) {
      gpu_fence();
      // For the next launch. This thread has observed the additions of all blocks, so they precede
      // the store.
      *ticket = 0;
    }
  }
  return __syncthreads_or(is_last) != 0;
}

// ---- Blocks that wait for blocks that started earlier ----

// The index of this block in the order in which the blocks of the launch start.
__device__ __forceinline__ unsigned take_number(unsigned* next, void* shared) {
  unsigned* const taken = static_cast<unsigned*>(shared);
  if (threadIdx.x == 0) *taken = atomicAdd(next, 1u);
  __syncthreads();
  const unsigned number = *taken;
  __syncthreads();
  return number;
}
// Sets a flag. A block that sees `what` in it also sees the stores of this block that precede the
// last block_barrier().
__device__ __forceinline__ void publish(unsigned* flag, unsigned what) {
  gpu_fence();
  *static_cast<volatile unsigned*>(flag) = what;
}
__device__ __forceinline__ unsigned await_flag(const unsigned* flag, unsigned least) {
  const volatile unsigned* const now = flag;
  unsigned what = *now;
  while (what < least) what = *now;
  gpu_fence();
  return what;
}

// ---- Blocks of a cluster, in one dimension ----

// Before sm_90 every block is its own cluster.
__device__ __forceinline__ int cluster_rank() {
  unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}
// Every thread of every block arrives and then waits for all others. Stores of any thread before
// its arrival, to the shared memory of any block, are visible to all threads after the wait.
__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}
// Arrives without a release: stores before it need not be visible after the wait. Without the
// release, ptxas emits no MEMBAR, which waits for all earlier stores of the thread.
__device__ __forceinline__ void cluster_arrive_relaxed() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#else
  __syncthreads();
#endif
}
// The address of `shared` in the shared memory of block `rank` of the cluster. That block must be
// running, so the access needs a cluster barrier before it and one after it.
template <class T>
__device__ __forceinline__ T* cluster_map(T* shared, int rank) {
#if __CUDA_ARCH__ >= 900
  T* theirs;
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(shared), "r"(rank));
  return theirs;
#else
  return shared;
#endif
}

// ---- Blocks of a cooperative launch, in one dimension ----

// The number that a block adds to the counter. Together, all blocks flip the top bit and leave the
// other bits at 0. A counter that starts at 0 therefore serves any number of barriers in turn.
__device__ __forceinline__ unsigned grid_arrival() {
  return blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
}
// A barrier for all threads of the grid. Stores of any thread before it are visible to all threads
// after it. `kHasMet` as in last_block.
template <bool kHasMet = false>
__device__ __forceinline__ void grid_barrier(unsigned* arrivals) {
  if constexpr (!kHasMet) __syncthreads();
  if (threadIdx.x == 0) {
    // As in last_block, fences separate this block's accesses from those of the counter.
    gpu_fence();
    const unsigned before = atomicAdd(arrivals, grid_arrival());
    const volatile unsigned* const now = arrivals;
    while (((before ^ *now) & 0x80000000u) == 0) {
    }
    gpu_fence();
  }
  __syncthreads();
}
// Arrives at a barrier without waiting. After an odd number of barriers, this returns the counter
// to 0 for the next launch.
__device__ __forceinline__ void grid_depart(unsigned* arrivals) {
  if (threadIdx.x == 0) atomicAdd(arrivals, grid_arrival());
}
