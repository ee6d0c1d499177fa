// Tables of pointers that are kernel parameters: they change with every run, and no run copies
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/driver/host/host_driver.h"
#include "runtime/execution/executable_state.h"
#include "tests/support/doubles/stream_capture.h"
#include "tests/support/run/list_runs.h"

namespace sinter::table_parameters_test {
namespace {

constexpr std::size_t kRuns = 12;

/// The parameter: whether the runs are replays.
class TableParameters : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < kRuns; ++i) lists.add(static_cast<float>(i));
    const Source& source = lists.executable().state()->variants().at(0)->kernels.at(0).source;
    ASSERT_FALSE(source.table.empty());
    ASSERT_EQ(table_values_in_memory(source), 0U);
    host::reset_counters();
  }

  void run(std::size_t number) { lists.run(number, context, stream, GetParam()); }
  void check(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
      EXPECT_EQ(lists.ends(i), lists.expected(static_cast<float>(i))) << "run " << i;
  }

  const Device device = host_device();
  const Stream stream = device.stream();
  test::ListRuns lists{device};
  Context context = lists.executable().context();
};

TEST_P(TableParameters, NeedNoCopyAndNoMemory) {
  const std::uint64_t before = host::counters().live_allocations;
  for (std::size_t i = 0; i < kRuns; ++i) run(i);
  stream.synchronize();
  EXPECT_EQ(host::calls("cuMemcpyHtoDAsync"), 0);
  EXPECT_EQ(host::calls("cuEventRecord"), 0);
  EXPECT_EQ(host::counters().live_allocations, before);
  check(0, kRuns);
}

/// The driver copies the parameters when it is called.
TEST_P(TableParameters, TheHostNeverWaits) {
  run(0);
  test::BlockedStream blocked(stream);
  for (std::size_t i = 1; i < kRuns; ++i) run(i);
  EXPECT_TRUE(blocked.release());
  for (const char* const call : {"cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize"})
    EXPECT_EQ(host::calls(call), 0) << call;
  stream.synchronize();
  check(0, kRuns);
}

TEST_P(TableParameters, CapturedRunsKeepTheirValues) {
  std::vector<std::unique_ptr<test::UserGraph>> graphs;
  for (std::size_t i = 0; i < kRuns; ++i)
    graphs.push_back(
        std::make_unique<test::UserGraph>(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, [&] { run(i); }));
  for (std::size_t i = kRuns; i > 0; --i) graphs[i - 1]->launch(stream);
  stream.synchronize();
  EXPECT_EQ(host::calls("cuMemcpyHtoDAsync"), 0);
  check(0, kRuns);
}

INSTANTIATE_TEST_SUITE_P(Modes, TableParameters, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Replay" : "Run"; });

using ReplayedTables = TableParameters;

TEST_P(ReplayedTables, PatchTheirNodeIfAPointerChanges) {
  run(0);
  run(0);
  EXPECT_EQ(context.counters().patched_nodes, 0);
  run(1);
  run(2);
  run(2);
  EXPECT_EQ(context.counters().patched_nodes, 2);
  EXPECT_EQ(context.counters().graph_builds, 1);
  stream.synchronize();
  check(0, 3);
}

INSTANTIATE_TEST_SUITE_P(Mode, ReplayedTables, testing::Values(true));

}  // namespace
}  // namespace sinter::table_parameters_test
