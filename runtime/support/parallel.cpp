#include "runtime/support/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

namespace sinter {

void run_parallel(const std::vector<std::function<void()>>& jobs) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> failures(jobs.size());
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      try {
        jobs[i]();
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  const std::size_t hardware = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = std::min(hardware, jobs.size());
  std::vector<std::thread> threads;
  threads.reserve(wanted);
  try {
    while (threads.size() + 1 < wanted) threads.emplace_back(work);
  } catch (const std::exception&) {  // continue with fewer threads
  }
  work();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace sinter
