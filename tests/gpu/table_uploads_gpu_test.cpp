// Tables of pointers that change with every run, on a GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tuple>

#include "runtime/execution/table_uploads.h"
#include "tests/support/run/list_runs.h"

namespace sinter::table_uploads_gpu_test {
namespace {

/// The parameters: whether the runs are replays, and the number of arrays.
class GpuTables : public testing::TestWithParam<std::tuple<bool, int>> {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  }
};

TEST_P(GpuTables, TheHostRunsAheadByAllBuffers) {
  constexpr std::size_t kRuns = TableUploads::kBuffers + 1;
  const Device device = default_device();
  const Stream stream = device.stream();
  const auto [as_graph, arrays] = GetParam();
  test::ListRuns lists(device, arrays);
  for (std::size_t i = 0; i < kRuns; ++i) lists.add(static_cast<float>(i));
  Context context = lists.executable().context();
  lists.run(0, context, stream, as_graph);
  stream.synchronize();
  {
    test::BlockedStream blocked(stream);
    for (std::size_t i = 1; i < kRuns; ++i) lists.run(i, context, stream, as_graph);
    EXPECT_TRUE(blocked.release());
  }
  for (std::size_t i = 0; i < kRuns; ++i)
    EXPECT_EQ(lists.ends(i), lists.expected(static_cast<float>(i))) << "run " << i;
}

INSTANTIATE_TEST_SUITE_P(Modes, GpuTables,
                         testing::Combine(testing::Bool(),
                                          testing::Values(test::kFewArrays, test::kManyArrays)),
                         [](const auto& test) {
                           return fmt::format("{}Of{}Arrays",
                                              std::get<0>(test.param) ? "Replay" : "Run",
                                              std::get<1>(test.param));
                         });

}  // namespace
}  // namespace sinter::table_uploads_gpu_test
