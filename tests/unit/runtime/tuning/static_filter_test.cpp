// The static filter, which skips candidates that cannot win.
#include "runtime/tuning/static_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/plan.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"

namespace sinter::static_filter_test {
namespace {

using ::testing::IsEmpty;
using ::testing::StartsWith;

const Target& target() { return *find_target("h200"); }

constexpr StaticEstimate kDefault{
    .spill_bytes = 0, .threads = 132 * 2048, .bytes_in_flight = 8 << 20, .bytes = 1000};

TEST(StaticFilter, SkipsSpillingCandidates) {
  StaticEstimate candidate = kDefault;
  candidate.spill_bytes = 8;
  EXPECT_EQ(skip_reason(candidate, kDefault, target()),
            "not measured: it spills 8 bytes per thread, the default 0");
  EXPECT_THAT(skip_reason(candidate, candidate, target()), IsEmpty());
  EXPECT_THAT(skip_reason(kDefault, candidate, target()), IsEmpty());
}

TEST(StaticFilter, SkipsCandidatesWithTooFewBytesInFlight) {
  StaticEstimate candidate = kDefault;
  candidate.bytes_in_flight = 1 << 20;
  EXPECT_THAT(skip_reason(candidate, kDefault, target()),
              StartsWith("not measured: it has 1024 KiB of loads in flight, the default "
                         "8192; full bandwidth needs "));
  candidate.bytes = 900;
  EXPECT_THAT(skip_reason(candidate, kDefault, target()), IsEmpty()) << "it moves fewer bytes";
  candidate.bytes = 1000;
  candidate.bytes_in_flight = 2 << 20;
  EXPECT_THAT(skip_reason(candidate, kDefault, target()), IsEmpty()) << "a quarter may do";
  StaticEstimate plenty = kDefault;
  plenty.bytes_in_flight = 1 << 30;
  candidate.bytes_in_flight = target().bytes_in_flight * target().sm_count / 2;
  EXPECT_THAT(skip_reason(candidate, plenty, target()), IsEmpty()) << "the memory is busy";
}

TEST(StaticFilter, ComparesThreadsIfLoadsAreUnknown) {
  StaticEstimate candidate = kDefault;
  candidate.threads = 132 * 128;
  EXPECT_THAT(skip_reason(candidate, kDefault, target()), IsEmpty());
  candidate.bytes_in_flight = 0;
  EXPECT_EQ(skip_reason(candidate, kDefault, target()),
            "not measured: it has 16896 resident threads on the device, the default 270336");
  candidate.threads = 132 * 256;
  EXPECT_THAT(skip_reason(candidate, kDefault, target()), IsEmpty());
}

/// Figures of the whole device, estimated from the compiler's output.
class StaticFiguresTest : public ::testing::Test {
 protected:
  std::optional<StaticEstimate> figures(std::int64_t blocks) {
    source.grid = blocks;
    source.threads = 256;
    source.traffic = {.bytes_read = blocks * 16384, .bytes_written = 5};
    unit.functions = {function};
    const Program program;
    const Kernel kernel;
    const std::vector<Schedule> schedules(1);
    return static_estimate(target(),
                           {.program = program,
                            .kernel = kernel,
                            .sources = {&source, 1},
                            .schedules = schedules,
                            .unit = unit,
                            .symbols = {}},
                           0);
  }

  Source source;
  CompiledFunction function;
  CompiledUnit unit;
};

TEST_F(StaticFiguresTest, AreUnknownWithoutAGpuCompiler) {
  EXPECT_FALSE(figures(1000));
  unit.cubins = {{.reason = "there is no NVRTC"}};
  EXPECT_FALSE(figures(1000));
}

TEST_F(StaticFiguresTest, FollowFromTheCubin) {
  unit.cubins = {{.registers = 64, .spill_bytes = 3, .bytes_in_flight = 32}};
  const auto many = figures(132000);
  ASSERT_TRUE(many);
  EXPECT_EQ(many->spill_bytes, 3);
  EXPECT_EQ(many->threads, 132 * 1024);  // 65536 registers per SM, 64 per thread
  EXPECT_EQ(many->bytes_in_flight, 132 * 1024 * 32);
  EXPECT_EQ(many->bytes, std::int64_t{132000} * 16384 + 5);
  EXPECT_EQ(figures(132)->threads, 132 * 256) << "there are no more";
}

TEST_F(StaticFiguresTest, FollowFromTheFunctionIfTheDriverCompiles) {
  EXPECT_FALSE(figures(132000));
  function = {.registers = 128, .spill_bytes = 7};
  const auto known = figures(132000);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->spill_bytes, 7);
  EXPECT_EQ(known->threads, 132 * 512);
  EXPECT_EQ(known->bytes_in_flight, 0);
}

}  // namespace
}  // namespace sinter::static_filter_test
