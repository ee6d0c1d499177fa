#include "runtime/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace sinter {

void run_parallel(const std::vector<std::function<void()>>& jobs) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) jobs[i]();
  };
  const std::size_t hardware = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(hardware, jobs.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace sinter
