// Work that nobody waits for, on one thread of the process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sinter {

/// Does tasks one after the other. What has not begun when this is destroyed is dropped.
class Background {
 public:
  Background() = default;
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// The one of this process; its thread ends when the process does, with what it is doing.
  static Background& of_process();

  /// `task` must not throw. In a process that was forked after a device had been opened it is
  /// dropped: nothing that it could do would be of use there. Throws std::system_error where the
  /// system has no thread for it.
  void add(std::function<void()> task);
  /// Returns when all that was added before is done.
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
};

}  // namespace sinter
