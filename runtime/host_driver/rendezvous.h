// Runs the blocks of a kernel on one OS thread; the threads of a block meet here at barriers and
// shuffles.
#pragma once

#include "codegen/device/host_api.h"
#include "runtime/cuda_abi.h"
#include "runtime/host_driver/fiber.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::host {

class AccessCounter;
class GridMeeting;
struct SiteCache;

/// Why work failed, for check() to tell; no failure if the code is CUDA_SUCCESS.
struct Failure {
  cuda::CUresult code = cuda::CUDA_SUCCESS;
  std::string text;
};

/// The kernel and the shape that a runner is to run.
struct BlockWork {
  const device_abi::KernelInfo* kernel = nullptr;
  void** parameters = nullptr;
  device_abi::Index3 grid{}, block{};
  unsigned char* shared = nullptr;
  unsigned shared_bytes = 0;
  bool may_start_early = false;      // so that the kernel must wait for those before it
  bool reversed = false;             // start with the last thread of each block
  GridMeeting* meeting = nullptr;    // of all blocks, in a cooperative launch
  AccessCounter* counter = nullptr;  // for kernels that count
  SiteCache* sites = nullptr;
};

/// A block at work. If its kernel has barriers, each of its threads is a fiber; else all run in
/// one loop, on one fiber, so that a fault can be left by switching away from it.
class BlockRunner : private device_abi::Block {
 public:
  BlockRunner();

  /// Runs the blocks [first, last) of `work`, by linear index, up to the first failure.
  Failure run(const BlockWork& work, std::uint64_t first, std::uint64_t last);

  /// The runner at work on this OS thread, or null.
  static BlockRunner* running();
  /// Called on a stack of its own after a signal stopped the kernel: gives up the block.
  [[noreturn]] void give_up(int signal, const void* address);

  static const device_abi::Services& services();

 private:
  enum class State : unsigned char { running, at_barrier, at_grid_barrier, at_shuffle, returned };

  static void run_fiber(void* runner);
  static void block_barrier(device_abi::Block* block);
  static void grid_barrier(device_abi::Block* block, const unsigned* arrivals);
  static void warp_meet(device_abi::Block* block);
  static void touch(device_abi::Block* block, const void* address, unsigned bytes, int site,
                    bool is_store);

  void begin(const BlockWork& work);
  void set_index(std::uint64_t linear);
  void release_all();
  void release_others();
  unsigned take_ready();
  void wait(State state);
  void thread_returned();
  std::string place() const;
  void meet_other_blocks(const unsigned* arrivals);
  [[noreturn]] void diverged();
  [[noreturn]] void meets_without_fibers(const char* what);
  [[noreturn]] void fail(cuda::CUresult code, std::string&& text);

  static constexpr unsigned kMaxWarps = 32;
  static constexpr unsigned kMaxThreads = kMaxWarps * device_abi::kWarpSize;

  BlockWork work_;
  std::uint64_t first_ = 0, last_ = 0;  // blocks to run, where threads are not fibers
  unsigned threads_ = 0;
  unsigned all_warps_ = 0;  // one bit per warp

  // Fibers that could run, one bit each; the running one is not among them.
  unsigned ready_warps_ = 0;  // those with any bit in ready_
  unsigned ready_[kMaxWarps];
  unsigned lanes_[kMaxWarps];  // all of a warp's threads
  unsigned current_ = 0;
  unsigned arrived_ = 0;          // at the block barrier
  unsigned arrived_at_grid_ = 0;  // at the grid barrier
  unsigned returned_ = 0;         // from the kernel
  State states_[kMaxThreads];
  device_abi::Warp warp_storage_[kMaxWarps];

  StackPool stacks_;
  std::vector<Fiber> fibers_;
  unsigned prepared_ = 0;  // fibers that wait for a thread to run
  Fiber main_;
  Failure failure_;
};

}  // namespace sinter::host
