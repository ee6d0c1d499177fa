// Kernels for a symbolic reduced extent against those for a number, in size classes from 128 to
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
constexpr double kMostBytes = 1.02;  ///< as a multiple of the fewest
/// Registers, as a multiple of those of the kernel for the number. NVRTC reserves more for a few
/// kernels whose vectors have guards.
constexpr double kMostRegisters = 1.25;
constexpr double kMostRegistersOfFew = 1.75;
/// With so few registers, an SM runs as many threads as it can.
constexpr int kFreeRegisters = 32;

/// A pattern whose COLUMNS are reduced.
struct ReducedPattern {
  std::string file;
  int few = 0;                        ///< classes that need more than kMostRegisters
  double most = kMostRegistersOfFew;  ///< of these, as a multiple
  std::int64_t longest = kLongest;
  /// Lengths are multiples of this, as of programs whose vectors are whole.
  std::int64_t divisor = 1;
};

void PrintTo(const ReducedPattern& pattern, std::ostream* stream) { *stream << pattern.file; }

/// The longest rows of every second class. Half of the patterns have the other classes.
std::vector<std::int64_t> lengths_of(const ReducedPattern& pattern) {
  std::vector<std::int64_t> lengths;
  std::size_t number = pattern.file.size();
  for (std::int64_t length = kShortest; length <= pattern.longest;
       length = class_of_residency(length).high + 1) {
    if (number++ % 2 == 0) continue;
    const std::int64_t last = std::min(class_of_residency(length).high, pattern.longest);
    lengths.push_back(last / pattern.divisor * pattern.divisor);
  }
  return lengths;
}

std::vector<std::int64_t> sizes_of(const Graph& graph, const Pattern& pattern) {
  std::vector<NamedSize> sizes;
  for (const auto& [name, value] : pattern.sizes) sizes.push_back({name, value});
  return symbols_from_sizes(graph, sizes);
}

/// The kernels of one program.
struct Planned {
  std::string name;
  std::vector<std::string> schedules;
  std::vector<Source> sources;
  double bytes = 0;  ///< as a multiple of the fewest
};

Planned planned(const Pattern& pattern) {
  const Graph graph = pattern.graph();
  const std::vector<std::int64_t> symbols = sizes_of(graph, pattern);
  const Program program = plan(graph, *find_target("h200"), {.symbols = symbols});
  Planned planned{.name = pattern.name};
  std::int64_t moved = 0;
  for (const Kernel& kernel : program.kernels) {
    const std::string entry = fmt::format("{}_{}_{}", kernel.name, pattern.columns,
                                          pattern.has_symbolic_columns() ? "symbol" : "number");
    planned.sources.push_back(emit(program, kernel, kernel.schedule, entry));
    planned.schedules.push_back(to_string(kernel.schedule));
    const Traffic& traffic = planned.sources.back().traffic;
    moved += evaluate(traffic.bytes_read, symbols) + evaluate(traffic.bytes_written, symbols);
  }
  planned.bytes = static_cast<double>(moved) /
                  static_cast<double>(minimal_bytes(program.graph->data(), symbols));
  return planned;
}

class SizeClasses : public testing::TestWithParam<ReducedPattern> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

TEST_P(SizeClasses, NeedNoMoreThanKernelsForNumbers) {
  const std::string file = kFolder + GetParam().file + ".sinter";
  std::vector<Planned> symbolic;
  std::vector<Planned> numbers;
  std::vector<Source> sources;
  for (const std::int64_t columns : lengths_of(GetParam())) {
    const Pattern pattern = symbolic_pattern(file, columns);
    symbolic.push_back(planned(pattern));
    numbers.push_back(planned(pattern.with_fixed_columns()));
    const std::string& name = symbolic.back().name;
    // Some long rows take two kernels with a number too.
    EXPECT_EQ(symbolic.back().sources.size(), numbers.back().sources.size()) << name;
    EXPECT_LE(symbolic.back().bytes, std::max(kMostBytes, numbers.back().bytes)) << name;
    for (const Planned* one : {&symbolic.back(), &numbers.back()})
      sources.insert(sources.end(), one->sources.begin(), one->sources.end());
  }
  const NvrtcUnit unit = compile_unit(sources, "sm_90");
  int above = 0;
  auto next = unit.reports.begin();
  for (std::size_t i = 0; i < symbolic.size(); ++i) {
    const auto with_number = next + static_cast<std::ptrdiff_t>(symbolic[i].sources.size());
    for (std::size_t k = 0; k < symbolic[i].sources.size(); ++k, ++next) {
      const int registers = next->registers;
      const int of_number = with_number[static_cast<std::ptrdiff_t>(k)].registers;
      const std::string what = fmt::format("{}: {} registers ({}) against {}", symbolic[i].name,
                                           registers, symbolic[i].schedules[k], of_number);
      EXPECT_EQ(next->spill_bytes, 0) << what;
      EXPECT_LE(registers, std::max<double>(GetParam().most * of_number, kFreeRegisters))
          << what;
      if (registers <= std::max<double>(kMostRegisters * of_number, kFreeRegisters)) continue;
      ++above;
      EXPECT_LE(above, GetParam().few) << what;
    }
    next = with_number + static_cast<std::ptrdiff_t>(numbers[i].sources.size());
  }
}

std::string name_of(const testing::TestParamInfo<ReducedPattern>& test) { return test.param.file; }

INSTANTIATE_TEST_SUITE_P(Patterns, SizeClasses,
                         testing::ValuesIn(std::vector<ReducedPattern>{
                             {.file = "softmax", .few = 1},
                             {.file = "log_softmax", .few = 2},
                             {.file = "softmax_backward"},
                             {.file = "cross_entropy_forward", .few = 2},
                             {.file = "logsumexp", .few = 4},
                             {.file = "layer_norm"},
                             {.file = "rms_norm"},
                             {.file = "add_rms_norm"},
                             {.file = "rms_norm_i8", .few = 1},
                             {.file = "rms_norm_f8e4m3", .few = 1},
                             {.file = "row_var_mean", .few = 2},
                             // Indices along a number have 32 bits, and along a symbol 64.
                             {.file = "row_argmax", .few = 20, .most = 2.1},
                             {.file = "layer_norm_backward", .few = 2, .divisor = 16},
                             {.file = "rms_norm_backward", .few = 1, .divisor = 16},
                             // Longer columns of f32 are read again.
                             {.file = "column_softmax", .longest = 49'152},
                             {.file = "column_var_mean", .longest = 49'152},
                             {.file = "column_sum", .few = 1},
                             {.file = "full_var_mean"},
                             {.file = "full_sum", .few = 3},
                         }),
                         name_of);

}  // namespace
}  // namespace sinter::test::size_classes_nvrtc_test
