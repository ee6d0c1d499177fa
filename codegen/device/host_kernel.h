// The code that lets the host driver find and run a kernel: its exported description, and the loops
// that call it.
#pragma once

#include "codegen/device/host_primitives.h"

/// Sets the position of the thread that runs next. Kernels without barriers use the first form,
/// because they need no lane and no warp.
__device__ __forceinline__ void sinter_begin(sinter::device_abi::Block* block, unsigned x,
                                             unsigned y, unsigned z) {
  sinter_position = {{x, y, z}, 0, block->warps, block};
}
__device__ __forceinline__ void sinter_begin(sinter::device_abi::Block* block, unsigned thread) {
  constexpr unsigned kWarpSize = sinter::device_abi::kWarpSize;
  const auto [width, height, depth] = block->size;
  sinter_position = {{thread % width, thread / width % height, thread / (width * height)},
                     thread % kWarpSize,
                     block->warps + thread / kWarpSize,
                     block};
}

/// The type of a parameter in its slot. A kernel may take a large one by reference.
template <class T>
struct SinterSlot {
  using Type = T;
};
template <class T>
struct SinterSlot<T&> {
  using Type = T;
};

/// Runs all threads of a block of one kernel in a loop, or one thread on its own fiber.
template <auto kKernel>
struct SinterKernel;
template <class... Parameters, void (*kKernel)(Parameters...)>
struct SinterKernel<kKernel> {
  static constexpr unsigned kCount = sizeof...(Parameters);
  static constexpr unsigned kBytes[kCount + 1] = {sizeof(Parameters)..., 0};

  // Initializers in braces are evaluated in order, so each parameter is read from its own slot.
  static void run_block(void** parameters, sinter::device_abi::Block* block) {
    RunBlock{block, *static_cast<typename SinterSlot<Parameters>::Type*>(*parameters++)...};
  }
  static void run_thread(void** parameters, sinter::device_abi::Block* block, unsigned thread) {
    sinter_begin(block, thread);
    RunThread{*static_cast<typename SinterSlot<Parameters>::Type*>(*parameters++)...};
  }

 private:
  struct RunBlock {
    __device__ __forceinline__ RunBlock(sinter::device_abi::Block* block,
                                        Parameters... parameters) {
      const auto [width, height, depth] = block->size;
      for (unsigned z = 0; z < depth; ++z)
        for (unsigned y = 0; y < height; ++y)
          for (unsigned x = 0; x < width; ++x) {
            sinter_begin(block, x, y, z);
            kKernel(parameters...);
          }
    }
  };
  struct RunThread {
    __device__ __forceinline__ explicit RunThread(Parameters... parameters) {
      kKernel(parameters...);
    }
  };
};

static const sinter::device_abi::ThreadPosition* sinter_position_address() {
  return &sinter_position;
}

template <auto kKernel, bool kHasBarrier>
constexpr sinter::device_abi::KernelInfo sinter_kernel_info(const char* entry, unsigned threads) {
  using Kernel = SinterKernel<kKernel>;
  sinter::device_abi::KernelInfo info{};
  info.version = sinter::device_abi::kVersion;
  info.entry = entry;
  info.threads = threads;
  info.has_barrier = kHasBarrier;
#ifdef SINTER_COUNT
  info.counts = true;
#endif
  info.parameter_count = Kernel::kCount;
  info.parameter_bytes = Kernel::kBytes;
  if constexpr (kHasBarrier)
    info.run_thread = Kernel::run_thread;
  else
    info.run_block = Kernel::run_block;
  info.position = sinter_position_address;
  info.services = &sinter_services;
  return info;
}

// The host compiler appends, for each kernel, SINTER_KERNEL(entry, threads, has_barrier).
// clang-format off
#define SINTER_KERNEL(entry, threads, has_barrier)                   \
  extern "C" __attribute__((visibility("default"), used))            \
  constexpr sinter::device_abi::KernelInfo sinter_kernel_##entry =   \
      sinter_kernel_info<&entry, has_barrier>(#entry, threads);
// clang-format on
