// BackgroundThread: a thread that runs queued tasks in order.
//
// The end of the process waits for the thread. Tasks that have not begun are dropped. Long tasks
// check `stop_token` between their steps (runtime/support/cancellation.h), so a running task ends
// at its next step. The longest step is one run of a compiler.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace sinter {

/// Runs tasks one after the other. The destructor drops tasks that have not begun.
class BackgroundThread {
 public:
  BackgroundThread() = default;
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  /// The instance of this process. It ends with `exit`, but not with `_exit` or a signal.
  static BackgroundThread& process_wide();

  /// Queues `task`, which must not throw. A process that was forked after a device was opened drops
  /// it, since devices do not work there. Throws std::system_error if no thread can be started.
  void add(std::function<void()> task);
  /// Requests a stop when this ends.
  std::stop_token stop_token() const { return stop_.get_token(); }
  /// Returns when all tasks that were added before are done, or this ends.
  void wait();

 private:
  void work();
  void end();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  ///< that have not begun
  std::uint64_t added_ = 0, done_ = 0;
  bool is_ending_ = false;
  std::thread thread_;  ///< started by the first task
  std::stop_source stop_;
};

}  // namespace sinter
