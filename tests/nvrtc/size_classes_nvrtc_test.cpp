// Kernels for a symbolic reduced extent against those for a number, in every size class from 128 to
// 65,535 elements: bytes, launches, spills and registers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "codegen/emit.h"
#include "compiler/body/minimal_bytes.h"
#include "compiler/plan.h"
#include "compiler/program/size_class.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "tests/support/files/golden.h"
#include "tests/support/files/read_text.h"
#include "tests/support/graphs/patterns.h"

namespace sinter::test::size_classes_nvrtc_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns/";
constexpr std::int64_t kShortest = 128;
constexpr std::int64_t kLongest = 65'535;
constexpr double kMostBytes = 1.02;      ///< as a multiple of the fewest
constexpr double kMostRegisters = 1.25;  ///< as a multiple of the kernel for a number

/// A pattern whose COLUMNS are reduced.
struct ReducedPattern {
  std::string file;
  /// Partial sums of columns take more than the fewest bytes with a number too.
  bool has_partial_sums = false;
};

void PrintTo(const ReducedPattern& pattern, std::ostream* stream) { *stream << pattern.file; }

std::vector<std::int64_t> ends_of_classes() {
  std::vector<std::int64_t> ends;
  for (std::int64_t length = kShortest; length <= kLongest;
       length = class_of_residency(length).high + 1)
    ends.push_back(std::min(class_of_residency(length).high, kLongest));
  return ends;
}

std::vector<std::int64_t> sizes_of(const Graph& graph, const Pattern& pattern) {
  std::vector<NamedSize> sizes;
  for (const auto& [name, value] : pattern.sizes) sizes.push_back({name, value});
  return symbols_from_sizes(graph, sizes);
}

double bytes_ratio(const Program& program, const Source& source,
                   std::span<const std::int64_t> symbols) {
  const std::int64_t moved = evaluate(source.traffic.bytes_read, symbols) +
                             evaluate(source.traffic.bytes_written, symbols);
  return static_cast<double>(moved) /
         static_cast<double>(minimal_bytes(program.graph->data(), symbols));
}

/// Kernels of one pattern for the classes, each followed by that for the number.
class SizeClasses : public testing::TestWithParam<ReducedPattern> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }

  /// Adds the only kernel of `pattern` to the kernels to compile. Returns its bytes, as a multiple
  /// of the fewest.
  double add(const Pattern& pattern) {
    const Graph graph = pattern.graph();
    const std::vector<std::int64_t> symbols = sizes_of(graph, pattern);
    const Program program = plan(graph, *find_target("h200"), {.symbols = symbols});
    EXPECT_EQ(program.kernels.size(), 1U) << pattern.name;
    const Kernel& kernel = program.kernels.front();
    sources_.push_back(
        emit(program, kernel, kernel.schedule, fmt::format("kernel_{}", sources_.size())));
    schedules_.push_back(to_string(kernel.schedule));
    return bytes_ratio(program, sources_.back(), symbols);
  }

  std::vector<Source> sources_;
  std::vector<std::string> schedules_;
};

TEST_P(SizeClasses, NeedNoMoreThanKernelsForNumbers) {
  const std::string file = kFolder + GetParam().file + ".sinter";
  std::vector<std::string> names;
  for (const std::int64_t columns : ends_of_classes()) {
    const Pattern symbolic = symbolic_pattern(file, columns);
    const double bytes = add(symbolic);
    const double of_number = add(symbolic.with_fixed_columns());
    EXPECT_LE(bytes, GetParam().has_partial_sums ? std::max(kMostBytes, of_number) : kMostBytes)
        << symbolic.name;
    names.push_back(symbolic.name);
  }
  const NvrtcUnit unit = compile_unit(sources_, "sm_90");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const CubinReport& symbolic = unit.reports[2 * i];
    const CubinReport& number = unit.reports[2 * i + 1];
    EXPECT_EQ(symbolic.spill_bytes, 0) << names[i] << ": " << schedules_[2 * i];
    EXPECT_LE(symbolic.registers, kMostRegisters * number.registers)
        << names[i] << ": " << schedules_[2 * i] << " against " << schedules_[2 * i + 1];
    if (std::getenv("SHOW") != nullptr)
      fmt::print("{}: {} against {} registers: {} against {}\n", names[i], symbolic.registers,
                 number.registers, schedules_[2 * i], schedules_[2 * i + 1]);
  }
}

std::string name_of(const testing::TestParamInfo<ReducedPattern>& test) { return test.param.file; }

INSTANTIATE_TEST_SUITE_P(
    Patterns, SizeClasses,
    testing::Values(ReducedPattern{"softmax"}, ReducedPattern{"log_softmax"},
                    ReducedPattern{"softmax_backward"}, ReducedPattern{"cross_entropy_forward"},
                    ReducedPattern{"logsumexp"}, ReducedPattern{"layer_norm"},
                    ReducedPattern{"rms_norm"}, ReducedPattern{"add_rms_norm"},
                    ReducedPattern{"rms_norm_i8"}, ReducedPattern{"rms_norm_f8e4m3"},
                    ReducedPattern{"row_var_mean"},
                    ReducedPattern{.file = "layer_norm_backward", .has_partial_sums = true},
                    ReducedPattern{.file = "rms_norm_backward", .has_partial_sums = true},
                    ReducedPattern{"column_softmax"}, ReducedPattern{"column_var_mean"},
                    ReducedPattern{"column_sum"}, ReducedPattern{"full_var_mean"},
                    ReducedPattern{"full_sum"}),
    name_of);

}  // namespace
}  // namespace sinter::test::size_classes_nvrtc_test
