// Runs the blocks of a kernel on one OS thread; the threads of a block meet here at barriers and
// shuffles.
#pragma once

#include "codegen/device/host_api.h"
#include "runtime/driver/cuda_abi.h"
#include "runtime/driver/host/execution/fiber.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::host {

class AccessCounter;
class GridBarrier;
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
  unsigned cluster = 1;                  // neighbouring blocks that run together
  bool may_start_early = false;          // so that the kernel must wait for those before it
  bool reversed = false;                 // start with the last thread of each block
  GridBarrier* union_traffic = nullptr;  // of all blocks, in a cooperative launch
  AccessCounter* counter = nullptr;      // for kernels that count
  SiteCache* sites = nullptr;
};

/// A block at work. If its kernel has barriers, each of its threads is a fiber; else all run in
/// one loop, on one fiber, so that a fault can be left by switching away from it.
class BlockRunner : private device_abi::Block {
 public:
  BlockRunner();

  /// Runs the blocks [first, last) of `work`, by linear index, up to the first failure.
  Failure run(const BlockWork& work, std::uint64_t first, std::uint64_t last);

  // Of a block that runs together with the others of its cluster (cluster_rendezvous.h):
  enum class Pause { waits, returned, failed };
  /// Begins a block of the cluster that `members` run. False if there is no memory for its stacks.
  bool start(const BlockWork& work, std::uint64_t block, std::span<BlockRunner* const> members);
  /// Runs the block until all its threads wait for the cluster or have returned, or one fails.
  Pause resume();
  /// Why the block has failed, or should have.
  Failure take_failure();
  /// Forgets a block in the middle of its work.
  void drop() { prepared_ = 0; }
  /// `(3, 0, 0)`
  std::string place_in_grid() const;

  /// The runner at work on this OS thread, or null.
  static BlockRunner* running();
  /// Called on a stack of its own after a signal stopped the kernel: gives up the block.
  [[noreturn]] void cancellation(int signal, const void* address);

  static const device_abi::Services& services();

 private:
  enum class State : unsigned char {
    running,
    at_barrier,
    at_grid_barrier,
    at_cluster_barrier,
    at_shuffle,
    returned
  };

  static void run_fiber(void* runner);
  static void block_barrier(device_abi::Block* block);
  static void grid_barrier(device_abi::Block* block, const unsigned* arrivals);
  static void cluster_arrive(device_abi::Block* block);
  static void cluster_wait(device_abi::Block* block);
  static void* cluster_map(device_abi::Block* block, const void* shared, unsigned rank);
  static void warp_meet(device_abi::Block* block);
  static void touch(device_abi::Block* block, const void* address, unsigned bytes, int site,
                    bool is_store);

  void begin(const BlockWork& work);
  void set_index(std::uint64_t linear);
  void start_threads();
  bool has_returned() const { return returned_ == threads_; }
  void release_all();
  void release_others();
  unsigned take_ready();
  void wait(State state);
  void thread_returned();
  std::string place() const;
  void wait_for_other_blocks(const unsigned* arrivals);
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
  unsigned arrived_ = 0;                   // at the block barrier
  unsigned arrived_at_grid_ = 0;           // at the grid barrier
  unsigned returned_ = 0;                  // from the kernel
  unsigned at_cluster_ = 0;                // waiting for the other blocks of the cluster
  std::span<BlockRunner* const> members_;  // of the cluster, by rank; none: this block alone
  bool has_met_cluster_ = false;
  bool has_arrived_[kMaxThreads];  // at the cluster's barrier, and not waited yet
  State states_[kMaxThreads];
  device_abi::Warp warp_storage_[kMaxWarps];

  StackPool stacks_;
  std::vector<Fiber> fibers_;
  unsigned prepared_ = 0;  // fibers that wait for a thread to run
  Fiber main_;
  Failure failure_;
};

}  // namespace sinter::host
