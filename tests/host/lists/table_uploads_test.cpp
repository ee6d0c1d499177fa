// Long tables of pointers that change with every run: the host may be several runs ahead of the
// device.
#include "runtime/execution/table_uploads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/driver/host/host_driver.h"
#include "runtime/execution/executable_state.h"
#include "sinter/error.h"
#include "tests/support/run/list_runs.h"

namespace sinter::table_uploads_test {
namespace {

constexpr std::size_t kAhead = TableUploads::kBuffers;

/// The parameter: whether the runs are replays.
class TableUploadsTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < 3 * kAhead; ++i) lists.add(static_cast<float>(i));
    lists.run(0, *context, stream, GetParam());  // allocates, and builds the graph
    stream.synchronize();
    host::reset_counters();
  }
  void TearDown() override { host::clear_faults(); }

  void run(std::size_t number) { lists.run(number, *context, stream, GetParam()); }
  void check(std::size_t end) const {
    for (std::size_t i = 0; i < end; ++i)
      EXPECT_EQ(lists.ends(i), lists.expected(static_cast<float>(i))) << "run " << i;
  }

  const Device device = host_device();
  const Stream stream = device.stream();
  test::ListRuns lists{device, test::kManyArrays};
  std::optional<Context> context = lists.executable().context();
};

TEST_P(TableUploadsTest, TheProgramHasATableInMemory) {
  const Source& source = lists.executable().state()->variants().at(0)->kernels.at(0).source;
  EXPECT_EQ(table_values_in_memory(source), 4 * test::kManyArrays);
}

TEST_P(TableUploadsTest, TheHostRunsAheadByAllBuffers) {
  test::BlockedStream blocked(stream);
  for (std::size_t i = 1; i <= kAhead; ++i) run(i);
  EXPECT_TRUE(blocked.release());
  for (const char* const call : {"cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize"})
    EXPECT_EQ(host::calls(call), 0) << call;
  stream.synchronize();
  check(kAhead + 1);
}

TEST_P(TableUploadsTest, TheHostWaitsForTheOldestCopyWhenAllAreInFlight) {
  test::BlockedStream blocked(stream);
  for (std::size_t i = 1; i <= kAhead; ++i) run(i);
  std::atomic<bool> has_run = false;
  std::thread ahead([&] {
    run(kAhead + 1);
    has_run = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_run);
  EXPECT_TRUE(blocked.release());
  ahead.join();
  stream.synchronize();
  check(kAhead + 2);
  EXPECT_EQ(host::calls("cuEventSynchronize"), 1);
}

TEST_P(TableUploadsTest, EqualPointersAreNotCopiedAgain) {
  run(1);
  const std::uint64_t before = host::calls("cuMemcpyHtoDAsync");
  EXPECT_EQ(before, 1);
  for (int i = 0; i < 20; ++i) run(1);
  EXPECT_EQ(host::calls("cuMemcpyHtoDAsync"), before);
}

TEST_P(TableUploadsTest, CompletedCopiesNeedNoWait) {
  for (std::size_t i = 1; i < 3 * kAhead; ++i) {
    run(i);
    device.synchronize();
  }
  EXPECT_EQ(host::calls("cuEventSynchronize"), 0);
  check(3 * kAhead);
}

TEST_P(TableUploadsTest, PageableMemoryServesIfNoneCanBePinned) {
  context = lists.executable().context();
  host::inject_fault("cuMemHostAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
  for (std::size_t i = 0; i < 2 * kAhead; ++i) run(i);
  EXPECT_EQ(host::calls("cuMemHostAlloc"), 1);
  stream.synchronize();
  check(2 * kAhead);
}

TEST_P(TableUploadsTest, TheBuffersAreReleasedWithTheContextAfterItsCopies) {
  const std::uint64_t with_context = host::counters().live_allocations;
  {
    test::BlockedStream blocked(stream);
    run(1);
    std::thread releasing([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_TRUE(blocked.release());
    });
    context.reset();
    releasing.join();
  }
  EXPECT_EQ(host::counters().live_allocations, with_context - 2);  // the table, and the buffers
  check(2);
}

/// After a copy whose end is unknown, the device is waited for before the buffer is used again.
TEST_P(TableUploadsTest, AFailedRecordDelaysTheReuseOfItsBuffer) {
  host::inject_fault("cuEventRecord", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THROW(run(1), DriverError);
  host::clear_faults();
  host::reset_counters();
  for (std::size_t i = 1; i <= kAhead; ++i) run(i);  // the table of run 1 was copied
  EXPECT_EQ(host::calls("cuCtxSynchronize"), 0);
  run(kAhead + 1);
  EXPECT_EQ(host::calls("cuCtxSynchronize"), 1);
  stream.synchronize();
  check(kAhead + 2);
}

INSTANTIATE_TEST_SUITE_P(Modes, TableUploadsTest, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Replay" : "Run"; });

}  // namespace
}  // namespace sinter::table_uploads_test
