// Work that nobody waits for, on one thread of the process.
//
// At the end of the process the thread is waited for: what has not begun is dropped, and what is
// under way ends at its next step, since tasks that take long look at `stop_token` between their
// steps (runtime/support/cancellation.h). The longest step is one run of a compiler.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace sinter {

/// Does tasks one after the other. What has not begun when this is destroyed is dropped.
class Background {
 public:
  Background() = default;
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// The one of this process. It ends with `exit`, and stays where a process just stops to be.
  static Background& of_process();

  /// `task` must not throw. In a process that was forked after a device had been opened it is
  /// dropped: nothing that it could do would be of use there. Throws std::system_error where the
  /// system has no thread for it.
  void add(std::function<void()> task);
  /// Asked to stop when this ends.
  std::stop_token stop_token() const { return stop_.get_token(); }
  /// Returns when all that was added before is done, or this ends.
  void wait();

 private:
  void work();
  void end();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  ///< that have not begun
  std::uint64_t added_ = 0, done_ = 0;
  bool is_ending_ = false;
  std::thread thread_;  ///< begins with the first task
  std::stop_source stop_;
};

}  // namespace sinter
