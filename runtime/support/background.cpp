#include "runtime/support/background.h"

#include "runtime/support/fork_guard.h"

#include <cstdlib>
#include <utility>

namespace sinter {

Background& Background::of_process() {
  // Never destroyed: in a forked process that would wait for a thread which did not come along.
  static auto* const background = [] {
    auto* const made = new Background;
    std::atexit([] {
      if (!is_forked()) of_process().end();
    });
    return made;
  }();
  return *background;
}

Background::~Background() { end(); }

void Background::end() {
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

void Background::add(std::function<void()> task) {
  if (is_forked()) return;
  const std::lock_guard lock(mutex_);
  if (is_ending_) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  tasks_.push_back(std::move(task));
  ++added_;
  changed_.notify_all();
}

void Background::wait() {
  if (is_forked()) return;
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = added_;
  changed_.wait(lock, [&] { return done_ >= wanted || is_ending_; });
}

void Background::work() {
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
