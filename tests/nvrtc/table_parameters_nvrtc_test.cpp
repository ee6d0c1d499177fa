// Tables that are kernel parameters: no architecture copies them to local memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "compiler/plan.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/execution/make_variant.h"
#include "sinter/explain.h"
#include "sinter/text.h"
#include "tests/support/graphs/lists.h"

namespace sinter::test::table_parameters_nvrtc_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The graph, and the architecture.
class TableParameters : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

TEST_P(TableParameters, AreReadFromConstantMemory) {
  const auto& [text, arch] = GetParam();
  const Program program = plan(parse(text), *find_target(arch), {}, {});
  ASSERT_EQ(program.kernels.size(), 1U);
  const EmittedKernel emitted = emit_candidates(program, program.kernels[0], 1);
  const Source& source = emitted.sources[0];
  const auto table =
      std::ranges::find(source.arguments, Argument::Kind::table_values, &Argument::kind);
  ASSERT_NE(table, source.arguments.end());
  const NvrtcUnit unit = compile_unit(emitted.sources, arch);
  EXPECT_EQ(unit.reports[0].spill_bytes, 0);
  const std::string& ptx = unit.ptx;
  EXPECT_THAT(ptx, HasSubstr(fmt::format("_param_{}[{}]", table - source.arguments.begin(),
                                         8 * source.table.size())));
  EXPECT_THAT(ptx, HasSubstr("ld.param.u64"));
  EXPECT_THAT(ptx, Not(HasSubstr(".local")));
  EXPECT_THAT(ptx, Not(HasSubstr("cvta.param")));
  const Explanation explanation = explain(parse(text), {}, Options{.target = arch});
  for (const AccessReport& array : explanation.kernels.at(0).arrays)
    EXPECT_EQ(array.problem, "") << array.array;
}

INSTANTIATE_TEST_SUITE_P(
    Lists, TableParameters,
    testing::Combine(testing::Values(adamw_text(24), adamw_text(24, "bf16"), clip_adamw_text(24)),
                     testing::Values("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")));

}  // namespace
}  // namespace sinter::test::table_parameters_nvrtc_test
