// for_each_schedule: runs a test of asynchronous copies under all ways to delay them.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu {

/// Copies complete at once, at random times, and when they are awaited.
inline void for_each_schedule(const std::function<void(const GpuOptions& options)>& test) {
  for (const Schedule schedule : {Schedule::fair, Schedule::random, Schedule::adversarial})
    for (const std::uint64_t seed : {1, 2, 3}) {
      SCOPED_TRACE("schedule " + std::to_string(static_cast<int>(schedule)) + ", seed " +
                   std::to_string(seed));
      test({.schedule = schedule, .seed = seed});
      if (schedule == Schedule::fair) break;
    }
}

/// The violation under the fair schedule. The others must agree that there is one; they may find
/// another thread first.
inline std::string violation_under_all(const std::function<void(const GpuOptions&)>& run) {
  std::string first;
  for_each_schedule([&](const GpuOptions& options) {
    const std::string message = violation_of([&] { run(options); });
    if (first.empty()) first = message;
    EXPECT_EQ(message == "none", first == "none") << message << "\n" << first;
  });
  return first;
}

}  // namespace sinter::virtual_gpu
