// Inside the oracle: sharing a loop among threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace sinter {

template <class Body>
void in_parallel(std::int64_t count, std::int64_t cost, const Body& body) {
  // Starting a thread takes some 20 µs; each should have a millisecond's work.
  constexpr std::int64_t kNanosecondsPerThread = 1'000'000;
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::int64_t threads = std::clamp<std::int64_t>(count * cost / kNanosecondsPerThread, 1,
                                                        std::max<std::int64_t>(cores, 1));
  const auto start = [&](std::int64_t thread) {
    return count / threads * thread + std::min(thread, count % threads);
  };
  std::vector<std::thread> others;
  for (std::int64_t thread = 1; thread < threads; ++thread)
    others.emplace_back([&, thread] { body(start(thread), start(thread + 1)); });
  body(std::int64_t{0}, start(1));
  for (std::thread& other : others) other.join();
}

}  // namespace sinter
