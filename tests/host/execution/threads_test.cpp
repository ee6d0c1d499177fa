// Threads that compile, run, replay and destroy programs concurrently.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "sinter/sinter.h"
#include "tests/support/run/run.h"

namespace sinter::threads_test {
namespace {

constexpr int kGraphs = 6;

/// y = x * factor + 1; some programs also have the sum of each row.
Graph graph_of(int number) {
  Graph graph("program" + std::to_string(number));
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows, 64});
  const Tensor y = x * (number + 1) + 1;
  graph.output("y", y);
  if (number % 2 == 0) graph.output("total", sum(y, {1}));
  return graph;
}

/// Returns an error message, or an empty string if all results are correct.
std::string use(int number, std::int64_t rows, bool replays) {
  const Device device = host_device();
  const Stream stream = device.stream();
  const Executable executable =
      compile(graph_of(number), device, {.tune = Tune::off, .optimize_host = false});
  Context context = executable.context();
  const Array x = device.empty(f32, {rows, 64});
  const Array y = device.empty(f32, {rows, 64});
  const Array total = device.empty(f32, {rows});
  device.upload(x, std::vector<float>(static_cast<std::size_t>(rows * 64), 2.0F), stream);
  std::vector<Binding> outputs = {{"y", y}};
  if (number % 2 == 0) outputs.push_back({"total", total});
  if (replays)
    context.replay(stream, {{"x", x}}, outputs);
  else
    context.run(stream, {{"x", x}}, outputs);
  const float wanted = 2.0F * static_cast<float>(number + 1) + 1.0F;
  for (const float value : device.download<float>(y, stream))
    if (value != wanted) return "an element is wrong";
  if (number % 2 == 0)
    for (const float value : device.download<float>(total, stream))
      if (value != 64 * wanted) return "a sum is wrong";
  return {};
}

TEST(Threads, CompileRunAndDestroyConcurrently) {
  constexpr int kThreads = 2;
  constexpr int kTimes = 1000;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&failures, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      for (int i = 0; i < kTimes; ++i) {
        const auto number = static_cast<int>(random() % kGraphs);
        const auto rows = static_cast<std::int64_t>(random() % 20);
        if (!use(number, rows, random() % 2 == 0).empty()) ++failures;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  std::printf("%d threads, %d programs each, %d were wrong\n", kThreads, kTimes, failures.load());
}

}  // namespace
}  // namespace sinter::threads_test
