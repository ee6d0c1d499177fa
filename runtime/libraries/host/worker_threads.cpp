#include "runtime/libraries/host/worker_threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/driver/host/execution/execute.h"
#include "runtime/driver/host/execution/float_environment.h"

namespace sinter {

namespace {

struct JobList {
  const std::function<void(int worker, std::int64_t index)>* job = nullptr;
  std::int64_t count = 0;
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;  ///< the first

  void work(int worker) {
    const host::KernelFloatEnvironment environment;
    try {
      for (std::int64_t i = next++; i < count; i = next++) (*job)(worker, i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }
};

/// Threads that wait for lists of jobs. The caller never waits for a thread that has not begun, so
/// late threads cost no time.
class WorkerThreads {
 public:
  /// False if another thread uses them, or the caller is one of them.
  bool run(JobList& list, int workers) {
    if (is_running_.exchange(true)) return false;
    run_alone(list, workers);
    is_running_ = false;
    return true;
  }

 private:
  void run_alone(JobList& list, int workers) {
    {
      const std::lock_guard lock(mutex_);
      start(workers - 1);
      list_ = &list;
      helpers_ = std::min(workers - 1, started_);
      ++generation_;
    }
    wake_.notify_all();
    list.work(0);
    std::unique_lock lock(mutex_);
    list_ = nullptr;
    done_.wait(lock, [&] { return busy_ == 0; });
  }

  /// Starts threads until there are `count`; fewer are fine.
  void start(int count) {
    try {
      while (started_ < count) {
        std::thread(&WorkerThreads::serve, this, started_).detach();
        ++started_;
      }
    } catch (const std::exception&) {
    }
  }

  [[noreturn]] void serve(int index) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      if (!list_ || index >= helpers_) continue;
      JobList& list = *list_;
      ++busy_;
      lock.unlock();
      list.work(index + 1);
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::atomic<bool> is_running_ = false;  ///< one list at a time
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  JobList* list_ = nullptr;
  std::uint64_t generation_ = 0;
  int helpers_ = 0;  ///< threads that may take part in the current list
  int started_ = 0;
  int busy_ = 0;  ///< threads that have begun and are not done
};

}  // namespace

int most_workers() { return std::max(1, host::workers()); }

void run_jobs(std::int64_t count, int workers,
              const std::function<void(int worker, std::int64_t index)>& job) {
  // Never destroyed: other threads may run jobs while the process ends.
  static auto& threads = *new WorkerThreads;
  JobList list{.job = &job, .count = count};
  const auto wanted = static_cast<int>(
      std::min<std::int64_t>({count, std::int64_t{workers}, std::int64_t{most_workers()}}));
  if (wanted <= 1 || !threads.run(list, wanted)) list.work(0);
  if (list.failure) std::rethrow_exception(list.failure);
}

}  // namespace sinter
