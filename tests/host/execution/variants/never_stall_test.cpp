// Options::never_stall: runs use default schedules until background tuning finishes. The bits do
// not change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <optional>
#include <thread>

#include "runtime/driver/host/host_driver.h"
#include "runtime/support/background_thread.h"
#include "sinter/counters.h"
#include "sinter/sinter.h"

namespace sinter::never_stall_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::int64_t kColumns = 96;

/// Each factor gives different kernels.
Graph softmax_of_rows(double factor) {
  Graph graph("softmax");
  const Extent rows = graph.extent("rows");
  graph.output("y", softmax(graph.input("x", f32, {rows, kColumns}) * factor, -1));
  return graph;
}

class NeverStall : public ::testing::Test {
 protected:
  /// Blocks the background thread until `go_on`.
  void SetUp() override {
    BackgroundThread::process_wide().wait();
    hold();
  }
  void TearDown() override {
    go_on();
    BackgroundThread::process_wide().wait();
  }
  void hold() {
    held = std::promise<void>();
    BackgroundThread::process_wide().add([until = held.get_future().share()] { until.wait(); });
    is_held = true;
  }
  void go_on() {
    if (std::exchange(is_held, false)) held.set_value();
  }

  Array rows(std::int64_t count) const {
    std::vector<float> values(static_cast<std::size_t>(count * kColumns));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i * 7919 % 1000) / 100;
    const Array x = device.empty(f32, {count, kColumns});
    device.upload(x, values, stream);
    return x;
  }
  std::vector<float> run(Context& context, const Array& x) const {
    const Outputs outputs = context.run(stream, {{"x", x}});
    return device.download<float>(outputs[0], stream);
  }
  static bool is_same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }
  Executable compiled(double factor = 0.5) const {
    return compile(softmax_of_rows(factor), device, {.tune = Tune::quick, .never_stall = true});
  }

  const Device device = host_device();
  const Stream stream = device.stream();
  std::promise<void> held;
  bool is_held = false;
};

TEST_F(NeverStall, RunsTheDefaultUntilTuningEnds) {
  const Executable executable = compiled();
  Context context = executable.context();
  const Array x = rows(50);
  const std::vector<float> before = run(context, x);
  VariantReport report = executable.report().variants.at(0);
  EXPECT_TRUE(report.is_provisional);
  EXPECT_THAT(report.kernels.at(0).candidates, SizeIs(1));
  EXPECT_EQ(report.kernels[0].tuning,
            "the default, while candidates are measured in the background");

  const std::int64_t plans = counters().plans;
  EXPECT_TRUE(is_same(run(context, x), before));
  EXPECT_EQ(counters().plans, plans);

  go_on();
  executable.await_background();
  EXPECT_EQ(counters().plans, plans + 1);
  EXPECT_TRUE(is_same(run(context, x), before));
  EXPECT_THAT(executable.report().variants, SizeIs(1));
  report = executable.report().variants[0];
  EXPECT_FALSE(report.is_provisional);
  EXPECT_EQ(report.background_problem, "");
  EXPECT_GT(report.kernels.at(0).candidates.size(), 1U);
  EXPECT_GT(report.kernels[0].candidates[1].median_us, 0);
  EXPECT_EQ(counters().plans, plans + 1);
}

/// After the exchange, launches use the tuned schedule.
TEST_F(NeverStall, ReplaysRebuildTheirGraphOnce) {
  const Executable executable = compiled();
  Context context = executable.context();
  const Array x = rows(50);
  const Array y = device.empty(f32, {50, kColumns});
  const auto replayed = [&] {
    context.replay(stream, {{"x", x}}, {{"y", y}});
    return device.download<float>(y, stream);
  };
  const std::vector<float> before = replayed();
  const std::uint64_t graphs = host::calls("cuGraphInstantiateWithFlags");
  EXPECT_TRUE(is_same(replayed(), before));
  EXPECT_EQ(host::calls("cuGraphInstantiateWithFlags"), graphs);
  go_on();
  executable.await_background();
  const std::uint64_t tuned = host::calls("cuGraphInstantiateWithFlags");
  EXPECT_TRUE(is_same(replayed(), before));
  EXPECT_TRUE(is_same(replayed(), before));
  EXPECT_EQ(host::calls("cuGraphInstantiateWithFlags"), tuned + 1);
}

TEST_F(NeverStall, KeepsTheDefaultIfTuningFails) {
  const Executable executable = compiled(0.25);
  Context context = executable.context();
  const Array x = rows(50);
  const std::vector<float> before = run(context, x);
  host::inject_fault("cuModuleLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
  go_on();
  executable.await_background();
  const VariantReport report = executable.report().variants.at(0);
  EXPECT_TRUE(report.is_provisional);
  EXPECT_THAT(report.background_problem, HasSubstr("cuModuleLoadData failed on the host device"));
  EXPECT_TRUE(is_same(run(context, x), before));
}

TEST_F(NeverStall, DestroyedExecutablesAreNotTuned) {
  {
    const Executable executable = compiled();
    Context context = executable.context();
    run(context, rows(50));
  }
  const std::int64_t plans = counters().plans;
  go_on();
  BackgroundThread::process_wide().wait();
  EXPECT_EQ(counters().plans, plans);
}

/// The last handle is destroyed during tuning, which then stops.
TEST_F(NeverStall, TuningStopsWithTheLastHandle) {
  const std::thread::id here = std::this_thread::get_id();
  std::optional<Executable> executable;
  std::optional<Context> context;
  const auto drop = [&](std::string_view) {
    if (std::this_thread::get_id() == here) return;
    context.reset();
    executable.reset();
  };
  executable = compile(softmax_of_rows(0.0625), device,
                       {.tune = Tune::quick, .log = drop, .debug = 3, .never_stall = true});
  context = executable->context();
  run(*context, rows(50));
  const std::int64_t tunings = counters().tunings;
  go_on();
  BackgroundThread::process_wide().wait();
  EXPECT_FALSE(executable);
  EXPECT_EQ(counters().tunings, tunings);
}

TEST_F(NeverStall, PrepareWaits) {
  const Executable executable = compiled();
  Context context = executable.context();
  run(context, rows(50));
  go_on();
  executable.prepare({{"rows", 50}});
  EXPECT_FALSE(executable.report().variants.at(0).is_provisional);
  const Executable another = compiled();
  another.prepare({{"rows", 50}});
  EXPECT_FALSE(another.report().variants.at(0).is_provisional);
}

TEST_F(NeverStall, IsNotProvisionalWithoutTuning) {
  const Executable executable =
      compile(softmax_of_rows(0.5), device, {.tune = Tune::off, .never_stall = true});
  executable.prepare({{"rows", 50}});
  EXPECT_FALSE(executable.report().variants.at(0).is_provisional);
}

/// A variant with a lower alignment requirement runs these pointers until its own variant is ready.
TEST_F(NeverStall, RunsVariantsForLessAlignedPointersMeanwhile) {
  const Executable executable = compiled(0.0625);
  Context context = executable.context();
  const Array x = rows(50);
  const Array wide = device.empty(f32, {50 * kColumns + 1});
  const Array odd = wide.view(4, f32, {50, kColumns});
  device.copy(x, odd, stream);
  const std::vector<float> expected = run(context, odd);
  go_on();
  executable.await_background();

  hold();
  const std::int64_t plans = counters().plans;
  EXPECT_TRUE(is_same(run(context, x), expected));
  EXPECT_EQ(counters().plans, plans);
  ASSERT_THAT(executable.report().variants, SizeIs(2));
  VariantReport report = executable.report().variants[1];
  EXPECT_TRUE(report.is_provisional);
  EXPECT_EQ(report.alignment, 16);
  EXPECT_EQ(report.reason, "a pointer is a multiple of 16 bytes, not of 4");
  EXPECT_EQ(report.kernels.at(0).tuning,
            "as for less aligned pointers, until the kernel for these pointers is ready");

  go_on();
  executable.await_background();
  EXPECT_EQ(counters().plans, plans + 1);
  EXPECT_TRUE(is_same(run(context, x), expected));
  report = executable.report().variants[1];
  EXPECT_FALSE(report.is_provisional);
}

/// Each Context switches to the tuned variant at its next run.
TEST_F(NeverStall, ManyThreadsRunDuringTheExchange) {
  const Executable executable = compiled(0.125);
  Context first = executable.context();
  const Array x = rows(50);
  const std::vector<float> expected = run(first, x);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      Context context = executable.context();
      const Stream own = device.stream();
      for (int j = 0; j < 50; ++j) {
        const Outputs outputs = context.run(own, {{"x", x}});
        wrong += !is_same(device.download<float>(outputs[0], own), expected);
      }
    });
  go_on();
  executable.await_background();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(is_same(run(first, x), expected));
}

}  // namespace
}  // namespace sinter::never_stall_test
