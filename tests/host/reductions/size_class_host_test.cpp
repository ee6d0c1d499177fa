// Kernels for a symbolic reduced extent at the ends of their size class. One variant serves all
// lengths of the class, with the bits of the kernel for the number and of the unfused graph.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "compiler/program/size_class.h"
#include "ir/oracle/random_inputs.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/text.h"
#include "tests/support/graphs/patterns.h"
#include "tests/support/run/run.h"

namespace sinter::test::size_class_host_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns/";

struct Case {
  std::string file;
  std::int64_t length = 0;  ///< a length of the class
};

void PrintTo(const Case& test, std::ostream* stream) {
  *stream << test.file << " of " << test.length;
}

class SizeClassBorders : public testing::TestWithParam<Case> {
 protected:
  /// The small version of the tested pattern for rows of `length` elements.
  static Pattern pattern_of(std::int64_t length) {
    return small_pattern(symbolic_pattern(kFolder + GetParam().file + ".sinter", length));
  }

  Executable compiled(const Graph& graph, bool fuse = true) {
    return compile(graph, Device(&device_),
                   {.tune = Tune::off, .fuse = fuse, .count = true, .optimize_host = false});
  }

  void SetUp() override { device_.target = pattern_of(GetParam().length).target(); }

  DeviceState device_{host::host_driver(), 0};
};

std::vector<std::int64_t> sizes_of(const Graph& graph, const Pattern& pattern) {
  std::vector<NamedSize> sizes;
  for (const auto& [name, value] : pattern.sizes) sizes.push_back({name, value});
  return symbols_from_sizes(graph, sizes);
}

void expect_equal(const HostArrays& expected, const HostArrays& actual, const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size());
  for (const auto& [name, values] : expected) {
    const auto index = first_difference(values, actual.at(name));
    EXPECT_FALSE(index) << what << ": " << name << "[" << fmt::format("{}", fmt::join(*index, ", "))
                        << "]";
  }
}

/// The first length is odd, so that its kernels serve the others too.
std::vector<std::int64_t> lengths_of(SizeClass sizes) {
  const std::int64_t odd = (sizes.low + sizes.high) / 4 * 2 + 1;
  std::vector<std::int64_t> lengths = {std::clamp(odd, sizes.low, sizes.high)};
  for (const std::int64_t length :
       {sizes.low, sizes.low + 1, sizes.low + 7, sizes.high - 5, sizes.high - 1, sizes.high})
    if (length >= sizes.low && length <= sizes.high &&
        std::ranges::find(lengths, length) == lengths.end())
      lengths.push_back(length);
  return lengths;
}

TEST_P(SizeClassBorders, OneVariantServesAllLengths) {
  const std::vector<std::int64_t> lengths = lengths_of(class_of_residency(GetParam().length));
  const Graph symbolic = pattern_of(lengths[0]).graph();
  const Executable for_class = compiled(symbolic);
  const Executable unfused = compiled(symbolic, false);
  for (const std::int64_t length : lengths) {
    const Pattern pattern = pattern_of(length);
    const std::vector<std::int64_t> symbols = sizes_of(symbolic, pattern);
    const HostArrays inputs = random_inputs(symbolic, symbols, /*seed=*/7);
    const HostArrays results = run_executable(for_class, symbolic, inputs, {.symbols = symbols});
    expect_equal(results, run_executable(unfused, symbolic, inputs, {.symbols = symbols}),
                 fmt::format("unfused at {}", length));
    // Arrays that begin at the end of an element have other variants.
    expect_equal(
        results,
        run_executable(for_class, symbolic, inputs, {.symbols = symbols, .misalignment = 8}),
        fmt::format("misaligned at {}", length));
    if (length != lengths.front() && length != lengths.back()) continue;
    const Pattern fixed = pattern.with_fixed_columns();
    const Graph graph = fixed.graph();
    expect_equal(
        results,
        run_executable(compiled(graph), graph, inputs, {.symbols = sizes_of(graph, fixed)}),
        fmt::format("the number {}", length));
  }
  const Report report = for_class.report();
  EXPECT_EQ(report.variants.size(), 2U) << "one per alignment";
}

/// The tiles of a block have space for the longest rows of the class.
TEST(SizeClassTiles, StoreTransposedRows) {
  DeviceState device(host::host_driver(), 0);
  device.target.sm_count = 2;
  device.target.bandwidth = 60e9;
  for (const std::int64_t length : {260, 301, 512}) {
    const RunResult run = run_and_check_on(Device(&device), parse(R"(
graph transposed(x: f32[48, columns]) {
  m = max x {axes = [1], keep = true}
  d = sub x, m
  p = permute d {axes = [1, 0]}
  t = exp p
  return d, t
})"),
                                           {{"columns", length}}, {.misaligned = true});
    ASSERT_EQ(run.report.kernels.size(), 1U);
    EXPECT_NE(run.report.kernels[0].schedule.find("transposed in tiles"), std::string::npos)
        << run.report.kernels[0].schedule;
    EXPECT_EQ(run.bytes_read, 48 * length * 4);
  }
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return fmt::format("{}_{}", test.param.file, test.param.length);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t length : {200, 1300, 5000, 8192, 9001})
    for (const char* file : {"softmax", "layer_norm", "layer_norm_backward"})
      all.push_back({file, length});
  for (const char* file :
       {"log_softmax", "softmax_backward", "cross_entropy_forward", "logsumexp", "rms_norm",
        "add_rms_norm", "rms_norm_i8", "rms_norm_f8e4m3", "rms_norm_backward", "row_var_mean",
        "row_and_column_sum", "row_argmax", "full_var_mean", "full_argmax", "column_argmax"})
    all.push_back({file, 1700});
  for (const std::int64_t length : {300, 1300, 9001})
    for (const char* file : {"column_softmax", "column_var_mean"}) all.push_back({file, length});
  for (const char* file : {"softmax", "softmax_backward"}) all.push_back({file, 50'257});
  // Loops over whole rounds, and over the rest.
  for (const char* file : {"row_sum", "row_argmax"}) all.push_back({file, 9001});
  for (const char* file : {"full_sum", "full_argmax"}) all.push_back({file, 70'001});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Patterns, SizeClassBorders, testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace sinter::test::size_class_host_test
