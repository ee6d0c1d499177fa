// Runs the blocks of a kernel on one OS thread, and implements barriers and shuffles between the
// threads of a block.
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
class PriorLaunches;
struct SiteCache;

/// The failure of device work; no failure if the code is CUDA_SUCCESS.
struct Failure {
  cuda::CUresult code = cuda::CUDA_SUCCESS;
  std::string text;
};

/// The kernel and the launch shape that a runner runs.
struct BlockWork {
  const device_abi::KernelInfo* kernel = nullptr;
  void** parameters = nullptr;
  device_abi::Index3 grid{}, block{};
  unsigned char* shared = nullptr;
  unsigned shared_bytes = 0;
  unsigned cluster = 1;                 // neighbouring blocks that run together
  bool may_start_early = false;         // the kernel must wait for earlier launches
  bool reversed = false;                // start with the last thread of each block
  GridBarrier* grid_barrier = nullptr;  // of a cooperative launch; else null
  PriorLaunches* prior = nullptr;       // those that the kernel waits for; null: they have ended
  AccessCounter* counter = nullptr;     // for kernels that count
  SiteCache* sites = nullptr;
};

/// Runs one block at a time. If the kernel has barriers, each thread is a fiber. Otherwise all
/// threads run in one loop on one fiber, so that a fault can be left by a switch.
class BlockRunner : private device_abi::Block {
 public:
  BlockRunner();

  /// Runs the blocks [first, last) of `work`, by linear index, up to the first failure.
  Failure run(const BlockWork& work, std::uint64_t first, std::uint64_t last);

  // For a block that runs in turns with the others of its cluster (cluster_rendezvous.h):
  enum class Pause { waits, returned, failed };
  /// Prepares a block of the cluster that `members` run. False if there is no memory for stacks.
  bool start(const BlockWork& work, std::uint64_t block, std::span<BlockRunner* const> members);
  /// Runs the block until all its threads wait for the cluster or have returned, or one fails.
  Pause resume();
  /// The failure of the block. An early start without the wait for earlier launches is one, too.
  Failure take_failure();
  /// Abandons a block in the middle of its work.
  void drop() { prepared_ = 0; }
  /// `(3, 0, 0)`
  std::string block_text() const;

  /// The runner that runs a block on this OS thread, or null.
  static BlockRunner* running();
  /// Called on a separate stack after a signal stopped the kernel: fails the block.
  [[noreturn]] void fail_at_signal(int signal, const void* address);

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
  static void warp_barrier(device_abi::Block* block);
  static void record_access(device_abi::Block* block, const void* address, unsigned bytes, int site,
                            bool is_store);
  static void wait_for_prior(device_abi::Block* block);

  void begin(const BlockWork& work);
  void set_index(std::uint64_t linear);
  void start_threads();
  bool has_returned() const { return returned_ == threads_; }
  void release_all();
  void release_others();
  unsigned take_ready();
  void wait(State state);
  void thread_returned();
  std::string location() const;
  void wait_for_other_blocks(const unsigned* arrivals);
  [[noreturn]] void diverged();
  [[noreturn]] void meets_without_fibers(const char* what);
  [[noreturn]] void fail(cuda::CUresult code, std::string&& text);

  static constexpr unsigned kMaxWarps = 32;
  static constexpr unsigned kMaxThreads = kMaxWarps * device_abi::kWarpSize;

  BlockWork work_;
  std::uint64_t first_ = 0, last_ = 0;  // blocks to run, if threads are not fibers
  unsigned threads_ = 0;
  unsigned all_warps_ = 0;  // one bit per warp

  // Runnable fibers, one bit each, without the running one.
  unsigned ready_warps_ = 0;  // warps with a bit in ready_
  unsigned ready_[kMaxWarps];
  unsigned lanes_[kMaxWarps];  // all of a warp's threads
  unsigned current_ = 0;
  unsigned arrived_ = 0;                   // threads at the block barrier
  unsigned arrived_at_grid_ = 0;           // threads at the grid barrier
  unsigned returned_ = 0;                  // threads that have returned
  unsigned at_cluster_ = 0;                // threads that wait for the other blocks of the cluster
  std::span<BlockRunner* const> members_;  // of the cluster, by rank; empty: this block alone
  bool has_met_cluster_ = false;
  bool has_arrived_[kMaxThreads];  // at the cluster barrier, without having waited
  State states_[kMaxThreads];
  device_abi::Warp warp_storage_[kMaxWarps];

  StackPool stacks_;
  std::vector<Fiber> fibers_;
  unsigned prepared_ = 0;  // fibers that are ready to run a thread of the next block
  Fiber main_;
  Failure failure_;
};

}  // namespace sinter::host
