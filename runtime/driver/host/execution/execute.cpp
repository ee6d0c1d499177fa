#include "runtime/driver/host/execution/execute.h"

#include "ir/support/round_up.h"
#include "runtime/driver/host/execution/byte_count.h"
#include "runtime/driver/host/execution/cluster_rendezvous.h"
#include "runtime/driver/host/execution/cpu_claims.h"
#include "runtime/driver/host/execution/fault_signal.h"
#include "runtime/driver/host/execution/float_environment.h"
#include "runtime/driver/host/execution/grid_barrier.h"
#include "runtime/driver/host/execution/memory.h"
#include "runtime/driver/host/execution/shared_memory.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include <fmt/format.h>

namespace sinter::host {
namespace {

constexpr std::size_t kParameterAlignment = 16;

struct Worker {
  BlockRunner runner;
  SharedMemory shared;
  ClusterRunner clusters;  // has separate shared memory
  SiteCache sites;
};

/// The state of a launch that the workers share.
struct SharedWork {
  BlockWork blocks;
  std::uint64_t count = 0;  // of blocks
  std::uint64_t chunk = 1;  // blocks that a worker claims at a time
  bool reversed = false;    // last block first
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> failed = false;
  CpuClaims cpus;
  std::mutex mutex;
  Failure failure;  // the first
};

Failure run_blocks(Worker& worker, const BlockWork& blocks, std::uint64_t first,
                   std::uint64_t last) {
  try {
    return blocks.cluster > 1 && blocks.kernel->has_barrier
               ? worker.clusters.run(blocks, first, last)
               : worker.runner.run(blocks, first, last);
  } catch (const std::bad_alloc&) {
    return {cuda::CUDA_ERROR_OUT_OF_MEMORY, "out of memory"};  // short: needs no allocation
  }
}

void run_share(Worker& worker, SharedWork& work) {
  BlockWork blocks = work.blocks;
  blocks.shared = worker.shared.part(blocks.shared_bytes);
  blocks.sites = &worker.sites;
  worker.sites.clear();
  const std::uint64_t chunks = (work.count + work.chunk - 1) / work.chunk;
  while (!work.failed.load(std::memory_order_relaxed)) {
    const std::uint64_t taken = work.next.fetch_add(1, std::memory_order_relaxed);
    if (taken >= chunks) return;
    const std::uint64_t first = work.chunk * (work.reversed ? chunks - 1 - taken : taken);
    const std::uint64_t last = std::min(first + work.chunk, work.count);
    Failure failure = run_blocks(worker, blocks, first, last);
    const bool has_failed = failure.code != cuda::CUDA_SUCCESS;
    if (has_failed) {
      const std::lock_guard lock(work.mutex);
      if (!work.failed.exchange(true)) work.failure = std::move(failure);
    }
    // After recording the failure, so that failures of waiting blocks do not replace the cause.
    if (blocks.grid_barrier) blocks.grid_barrier->block_ended(first, has_failed);
  }
}

/// The most OS threads that run clusters at once. Each thread of a block has a stack with a guard
/// page. Before Linux 6.13 each guard splits a mapping, and a process has about 65,000 mappings.
std::uint64_t max_clusters(const BlockWork& work) {
  constexpr std::uint64_t kMaxFibers = 8192;
  if (work.cluster == 1 || !work.kernel->has_barrier) return UINT64_MAX;
  return std::max<std::uint64_t>(kMaxFibers / (volume(work.block) * work.cluster), 1);
}

/// Waits for a short time, because a thread that sleeps wakes up late.
void spin_while(auto is_waiting) {
  constexpr int kSpins = 1000;
  for (int i = 0; i < kSpins && is_waiting(); ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

/// Locks a mutex that other threads hold for some instructions only.
void lock_soon(std::unique_lock<std::mutex>& lock) {
  spin_while([&] { return !lock.try_lock(); });
  if (!lock.owns_lock()) lock.lock();
}

/// OS threads that run launches. Never destroyed: kernels may run until the process ends.
class Pool {
 public:
  void set_workers(int count) {
    const std::lock_guard launching(launch_mutex_);
    wanted_ = count > 0 ? std::min(count, kMaxWorkers) : default_workers();
  }

  /// Runs all blocks. Fails without running anything if the launch is cooperative and too large.
  /// Throws std::bad_alloc if the needed threads cannot be started.
  void run(SharedWork& work, const KernelLaunch& launch) {
    const std::lock_guard launching(launch_mutex_);
    work.failure = cooperative_launch_failure(launch);
    if (work.failure.code != cuda::CUDA_SUCCESS) return;
    install_fault_handlers();
    const std::uint64_t chunks = (work.count + work.chunk - 1) / work.chunk;
    // The calling thread runs blocks too, so that small launches wait for no other thread. It
    // prepares a new fiber, because fibers must not change their OS thread.
    const bool takes_part = !launch.is_cooperative && !launch.kernel->has_barrier;
    if (takes_part) work.cpus.claim();
    std::unique_lock lock(mutex_, std::defer_lock);
    lock_soon(lock);
    start_workers(launch.is_cooperative ? wanted_.load() : takes_part ? 0 : 1);
    work_ = &work;
    const std::uint64_t at_once =
        std::min<std::uint64_t>(std::min(wanted(), started_), max_clusters(work.blocks));
    helpers_ = static_cast<int>(std::min(at_once, chunks));
    if (takes_part) helpers_ = std::max(helpers_ - 1, 0);
    absent_ = helpers_;
    const int helpers = helpers_;
    ++generation_;
    lock.unlock();
    for (int i = 0; i < helpers; ++i) wake_[i].notify_one();
    if (takes_part) {
      make_fault_stacks();
      own_.runner.drop();
      {
        const KernelFloatEnvironment environment;
        run_share(own_, work);
      }
      lock_soon(lock);
      work_ = nullptr;  // for helpers that have not woken up
      absent_ = 0;
      lock.unlock();
    }
    spin_while([&] { return busy_ > 0; });
    lock_soon(lock);
    done_.wait(lock, [&] { return busy_ + absent_ == 0; });
    work_ = nullptr;
  }

  int wanted() const { return wanted_; }

 private:
  static constexpr int kMaxWorkers = 256;

  static int default_workers() {
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 16);
  }

  /// Starts the wanted threads. Fewer are fine if at least `least` run.
  void start_workers(int least) {
    try {
      while (started_ < wanted_) {
        std::thread(&Pool::serve, this, started_, std::make_unique<Worker>()).detach();
        ++started_;
      }
    } catch (const std::exception&) {
      if (started_ < least) throw std::bad_alloc();
    }
  }

  void serve(int index, const std::unique_ptr<Worker>& worker) {
    make_fault_stacks();
    const KernelFloatEnvironment environment;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_[index].wait(lock, [&] { return generation_ != seen && index < helpers_; });
      seen = generation_;
      if (work_) {  // the launch has not ended yet
        SharedWork& work = *work_;
        ++busy_;
        --absent_;
        lock.unlock();
        work.cpus.claim_or_move();
        run_share(*worker, work);
        lock_soon(lock);
        if (--busy_ + absent_ == 0) done_.notify_one();
      }
      lock.unlock();
      spin_while([&] { return generation_ == seen; });
      lock_soon(lock);
    }
  }

  std::mutex launch_mutex_;  // one launch at a time
  std::mutex mutex_;
  std::condition_variable wake_[kMaxWorkers];
  std::condition_variable done_;
  SharedWork* work_ = nullptr;
  std::atomic<std::uint64_t> generation_ = 0;
  std::atomic<int> wanted_ = default_workers();
  int started_ = 0;
  int helpers_ = 0;            // workers that may take part in the current launch
  int absent_ = 0;             // helpers that must take part and have not begun
  std::atomic<int> busy_ = 0;  // helpers that have begun and are not done
  Worker own_;                 // of the calling thread
};

constexpr int kPools = 2;
thread_local int pool_of_this_thread = 0;

Pool& pool(int index) {
  static auto* const pools = new Pool[kPools];
  return pools[index];
}
Pool& pool() { return pool(pool_of_this_thread); }

std::vector<void*> point_to(const KernelLaunch& launch) {
  std::vector<void*> pointers;
  std::size_t offset = 0;
  for (unsigned i = 0; i < launch.kernel->parameter_count; ++i) {
    // Kernels take parameters by value, so they never write here.
    pointers.push_back(const_cast<std::byte*>(launch.parameters.data()) + offset);
    offset += round_up<std::size_t>(launch.kernel->parameter_bytes[i], kParameterAlignment);
  }
  return pointers;
}

}  // namespace

std::vector<std::byte> pack_parameters(const device_abi::KernelInfo& kernel, void** parameters) {
  std::vector<std::byte> packed;
  for (unsigned i = 0; i < kernel.parameter_count; ++i) {
    const std::size_t offset = packed.size();
    const std::size_t bytes = kernel.parameter_bytes[i];
    packed.resize(offset + round_up(bytes, kParameterAlignment));
    std::memcpy(packed.data() + offset, parameters[i], bytes);
  }
  return packed;
}

Failure cooperative_launch_failure(const KernelLaunch& launch) {
  const std::uint64_t blocks = volume(launch.grid);
  const int most = workers();
  if (!launch.is_cooperative || blocks <= static_cast<std::uint64_t>(most)) return {};
  return {cuda::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
          fmt::format("kernel {}: a cooperative launch of {} blocks, the device runs {} at once",
                      launch.kernel->entry, blocks, most)};
}

LaunchResult execute(const KernelLaunch& launch, std::uint64_t order, PriorLaunches* prior) {
  std::vector<void*> parameters = point_to(launch);
  std::unique_ptr<AccessCounter> counter;
  if (launch.kernel->counts) counter = std::make_unique<AccessCounter>(accessible_allocations());

  SharedWork work;
  const std::uint64_t threads = volume(launch.block);
  work.count = volume(launch.grid);
  std::optional<GridBarrier> grid_barrier;
  if (launch.is_cooperative) grid_barrier.emplace(work.count);
  work.reversed = order & 1;
  work.blocks = {.kernel = launch.kernel,
                 .parameters = parameters.data(),
                 .grid = launch.grid,
                 .block = launch.block,
                 .shared_bytes = launch.shared_bytes,
                 .cluster = launch.cluster,
                 .may_start_early = launch.may_start_early,
                 .reversed = (order & 2) && threads % device_abi::kWarpSize == 0,
                 .grid_barrier = grid_barrier ? &*grid_barrier : nullptr,
                 .prior = prior,
                 .counter = counter.get()};
  // Small enough to balance the load, large enough that claiming a chunk costs little.
  constexpr std::uint64_t kThreadsPerChunk = 4096;
  const std::uint64_t share = work.count / (8 * static_cast<std::uint64_t>(pool().wanted()));
  if (!launch.is_cooperative)
    work.chunk = std::max<std::uint64_t>(1, std::min(kThreadsPerChunk / threads, share));
  work.chunk = (work.chunk + launch.cluster - 1) / launch.cluster * launch.cluster;
  pool().run(work, launch);

  LaunchResult result{.failure = std::move(work.failure)};
  if (counter) {
    result.bytes_read = counter->bytes_read();
    result.bytes_written = counter->bytes_written();
  }
  return result;
}

void use_second_pool() { pool_of_this_thread = kPools - 1; }

void set_workers(int count) {
  for (int index = 0; index < kPools; ++index) pool(index).set_workers(count);
}
int workers() { return pool().wanted(); }

}  // namespace sinter::host
