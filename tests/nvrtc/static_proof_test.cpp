// Checks the machine code of the patterns of memory-bound work, without a GPU. Default kernels do
// not spill, their accesses are as wide as planned, and enough loads are in flight. No last wave
// has so few blocks that it leaves the memory idle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "compiler/target/target.h"
#include "compiler/target/wave_quantization.h"
#include "runtime/compile/nvrtc.h"
#include "sinter/explain.h"
#include "tests/support/graphs/patterns.h"

namespace sinter::test::static_proof_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";

class StaticProof : public testing::TestWithParam<Pattern> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

/// True if every SM reads enough that its loads should reach the target's bytes in flight.
bool has_enough_work(const KernelReport& report, const Target& target) {
  return report.bytes_read / target.sm_count >= 2 * target.bytes_in_flight;
}

/// The factor by which a partial last wave of blocks lengthens the reads; 1 if there are many
/// waves.
double slower_by_last_wave(const KernelExplanation& kernel, const Target& target) {
  const KernelReport& report = kernel.report;
  Grid grid{
      .blocks_per_sm = static_cast<double>(report.grid) / target.sm_count,
      .resident = blocks_per_sm(target, report.threads, report.registers, report.shared_bytes),
      .bytes_in_flight = static_cast<double>(kernel.bytes_in_flight) / kernel.blocks_per_sm};
  if (waves(grid) <= 1 || waves(grid) >= kFewWaves) return 1;
  const double with_last = slowdown(target, grid);
  grid.blocks_per_sm = grid.resident;
  return with_last / slowdown(target, grid);
}

/// True if an access to the array is narrower than the predicted widest one.
bool is_also_narrow(const AccessReport& array) {
  const auto is_below = [](int narrowest, int predicted) {
    return predicted > 0 && narrowest < predicted;
  };
  return is_below(array.predicted_narrowest_load_bytes, array.predicted_load_bytes) ||
         is_below(array.narrowest_load_bytes, array.predicted_load_bytes) ||
         is_below(array.predicted_narrowest_store_bytes, array.predicted_store_bytes) ||
         is_below(array.narrowest_store_bytes, array.predicted_store_bytes);
}

TEST_P(StaticProof, Holds) {
  const Pattern& pattern = GetParam();
  const Explanation proof = explain(pattern.graph(), pattern.named_sizes());
  const Target& target = *find_target(proof.target);
  const std::int64_t least =
      pattern.bytes_in_flight > 0 ? pattern.bytes_in_flight : target.bytes_in_flight;
  if (least < target.bytes_in_flight) {
    EXPECT_NE(pattern.in_flight_because, "") << "fewer loads in flight need a reason";
  }
  if (pattern.last_wave > 1.05) {
    EXPECT_NE(pattern.last_wave_because, "") << "a longer last wave needs a reason";
  }
  EXPECT_EQ(pattern.narrow.empty(), pattern.narrow_because.empty()) << "needs a reason";
  for (const KernelExplanation& kernel : proof.kernels) {
    const KernelReport& report = kernel.report;
    const std::string what = kernel.name + " (" + report.schedule + ")";
    EXPECT_TRUE(kernel.is_compiled) << what;
    EXPECT_EQ(report.spill_bytes, 0) << what;
    EXPECT_GT(report.registers, 0) << what;
    EXPECT_GT(kernel.blocks_per_sm, 0) << what;
    EXPECT_GT(kernel.predicted_us, 0) << what;
    // A load before the wait could read data that an earlier launch is still writing. The runtime
    // then starts the kernel late, which costs time.
    if (report.source.find("wait_for_prior_launches") != std::string::npos) {
      EXPECT_TRUE(kernel.may_start_early)
          << what << ": " << report.cubin.loads_before_wait << " loads before the wait";
    }
    for (const AccessReport& array : kernel.arrays) {
      EXPECT_EQ(array.problem, "") << what << ": " << array.array;
      if (is_also_narrow(array) && !pattern.has_odd_rows()) {
        EXPECT_THAT(pattern.narrow, testing::Contains(array.array)) << what;
      }
    }
    if (has_enough_work(report, target)) {
      EXPECT_GE(kernel.bytes_in_flight, least)
          << what << ": " << kernel.independent_loads << " independent loads, "
          << kernel.blocks_per_sm << " blocks of " << report.threads << " threads, "
          << report.registers << " registers";
    }
    EXPECT_LE(slower_by_last_wave(kernel, target), pattern.last_wave)
        << what << ": " << report.grid << " blocks";
  }
}

std::string name_of(const testing::TestParamInfo<Pattern>& test) {
  std::string name = test.param.name;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Patterns, StaticProof, testing::ValuesIn(patterns(kFolder)), name_of);

}  // namespace
}  // namespace sinter::test::static_proof_test
