// All ops of the op table compile for every architecture, one program per dtype.
#include "codegen/emit.h"
#include "codegen/prelude/select_prelude.h"
#include "compiler/plan.h"
#include "compiler/target/target.h"
#include "runtime/compile/nvrtc.h"
#include "tests/support/graphs/every_op.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::test::op_table_nvrtc_test {
namespace {

using Case = std::tuple<int, DType>;  ///< compute capability times 10, and the dtype of the ops
class EveryOp : public testing::TestWithParam<Case> {};

NvrtcOutput compile_all(const std::vector<Source>& sources, const std::string& arch) {
  std::vector<SourcePart> parts;
  std::vector<std::string_view> texts;
  for (const Source& source : sources) {
    parts.push_back({source.entry, source.text});
    texts.push_back(source.text);
  }
  return nvrtc().nvrtc->compile(prelude_for(texts), parts, arch);
}

TEST_P(EveryOp, CompilesToACubin) {
  const auto& [number, dtype] = GetParam();
  const std::string arch = fmt::format("sm_{}", number);
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  if (std::ranges::find(nvrtc().nvrtc->architectures(), number) ==
      nvrtc().nvrtc->architectures().end())
    GTEST_SKIP() << "this NVRTC does not know " << arch;
  // Separate kernels, because the time to compile a kernel grows faster than its length.
  const Program program =
      plan(every_op(dtype, 600), *find_target("sm_90"), {}, {.skip = {"fuse_launches"}});
  std::vector<Source> sources;
  for (const Kernel& kernel : program.kernels) {
    Schedule schedule = kernel.schedule;
    // One architecture has short vectors, and the others have single elements, which compile in a
    // fraction of the time. StaticProof compiles kernels with the longest vectors.
    if (kernel.kind == KernelKind::pointwise) {
      schedule.vector = number == 90 ? std::min(schedule.vector, 4) : 1;
      schedule.unroll = 1;
    }
    sources.push_back(emit(program, kernel, schedule, kernel.name));
  }
  const NvrtcOutput output = compile_all(sources, arch);
  EXPECT_EQ(output.kernels.size(), sources.size());
}

TEST(FastMath, UsesHardwareApproximations) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const Program program = plan(every_op(f32, 600), *find_target("sm_90"), {},
                               {.numerics = {.rounding = Rounding::wide, .math = Math::fast}});
  std::vector<Source> sources;
  for (const Kernel& kernel : program.kernels)
    sources.push_back(emit(program, kernel, kernel.schedule, kernel.name));
  const NvrtcOutput output = compile_all(sources, "sm_90");
  for (const char* const instruction :
       {"ex2.approx", "lg2.approx", "sin.approx", "cos.approx", "tanh.approx", "div.approx"})
    EXPECT_NE(output.ptx.find(instruction), std::string::npos) << instruction;
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return fmt::format("sm_{}_{}", std::get<0>(test.param), name(std::get<1>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(Table, EveryOp,
                         testing::Combine(testing::Values(90),
                                          testing::ValuesIn(computing_dtypes())),
                         name_of);
/// One dtype of each kind, because only the prelude depends on the architecture.
INSTANTIATE_TEST_SUITE_P(OtherTables, EveryOp,
                         testing::Combine(testing::Values(75, 80, 100, 120),
                                          testing::Values(f32, f64, bf16, f16, i64)),
                         name_of);

}  // namespace
}  // namespace sinter::test::op_table_nvrtc_test
