// Tables of pointers that change with every run, on a GPU.
#include <gtest/gtest.h>

#include "runtime/execution/table_uploads.h"
#include "tests/support/run/list_runs.h"

namespace sinter::table_uploads_gpu_test {
namespace {

class GpuTables : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  }
};

TEST_P(GpuTables, TheHostRunsAheadByAllBuffers) {
  constexpr std::size_t kRuns = TableUploads::kBuffers + 1;
  const Device device = default_device();
  const Stream stream = device.stream();
  test::ListRuns lists(device);
  for (std::size_t i = 0; i < kRuns; ++i) lists.add(static_cast<float>(i));
  Context context = lists.executable().context();
  lists.run(0, context, stream, GetParam());
  stream.synchronize();
  {
    test::BlockedStream blocked(stream);
    for (std::size_t i = 1; i < kRuns; ++i) lists.run(i, context, stream, GetParam());
    EXPECT_TRUE(blocked.release());
  }
  for (std::size_t i = 0; i < kRuns; ++i)
    EXPECT_EQ(lists.ends(i), test::ListRuns::expected(static_cast<float>(i))) << "run " << i;
}

INSTANTIATE_TEST_SUITE_P(Modes, GpuTables, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Replay" : "Run"; });

}  // namespace
}  // namespace sinter::table_uploads_gpu_test
