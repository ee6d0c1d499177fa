#include "runtime/support/background_thread.h"

#include "runtime/support/fork_guard.h"

#include <cstdlib>
#include <utility>

namespace sinter {

BackgroundThread& BackgroundThread::process_wide() {
  // Never destroyed: in a forked process, that would wait for a thread that does not exist there.
  static auto* const background = [] {
    auto* const made = new BackgroundThread;
    std::atexit([] {
      if (!is_forked()) process_wide().end();
    });
    return made;
  }();
  return *background;
}

BackgroundThread::~BackgroundThread() { end(); }

void BackgroundThread::end() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    thread.swap(thread_);
  }
  stop_.request_stop();
  changed_.notify_all();
  if (thread.joinable()) thread.join();
}

void BackgroundThread::add(std::function<void()> task) {
  if (is_forked()) return;
  const std::lock_guard lock(mutex_);
  if (is_ending_) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  tasks_.push_back(std::move(task));
  ++added_;
  changed_.notify_all();
}

void BackgroundThread::wait() {
  if (is_forked()) return;
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = added_;
  changed_.wait(lock, [&] { return done_ >= wanted || is_ending_; });
}

void BackgroundThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !tasks_.empty() || is_ending_; });
    if (is_ending_) return;
    {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace sinter
