// A kernel that spills is compiled again for fewer blocks per SM, which leaves it more registers.
// Sections of a fused kernel do not take registers from one another.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/emit.h"
#include "codegen/prelude/prelude.h"
#include "compiler/plan.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "sinter/text.h"
#include "tests/support/graphs/reduction_families.h"

namespace sinter::test::spill_nvrtc_test {
namespace {

/// Has more live values than the 32 registers that eight blocks of 256 threads leave.
constexpr const char* kCrowded = R"(
extern "C" __global__ void __launch_bounds__(256, 8) crowded(const float* x, float* y, int n) {
  float a[60];
#pragma unroll
  for (int i = 0; i < 60; ++i) a[i] = x[i * n + threadIdx.x];
  for (int k = 0; k < n; ++k)
#pragma unroll
    for (int i = 0; i < 60; ++i) a[i] = a[i] * a[(i + 1) % 60] + 0.5f;
#pragma unroll
  for (int i = 0; i < 60; ++i) y[i * n + threadIdx.x] = a[i];
})";

TEST(Spills, RecompileWithFewerBlocks) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const SourcePart part = {"crowded", kCrowded};
  const NvrtcOutput once = nvrtc().nvrtc->compile("", {&part, 1}, "sm_90");
  ASSERT_GT(once.kernels.begin()->second.spill_bytes, 0);
  const Source source{.entry = "crowded", .text = kCrowded, .threads = 256};
  const NvrtcUnit unit = compile_unit({&source, 1}, "sm_90");
  EXPECT_EQ(unit.reports[0].spill_bytes, 0);
  EXPECT_GT(unit.reports[0].registers, once.kernels.begin()->second.registers);
  EXPECT_GT(unit.milliseconds, 0);
}

/// A column reduction as emitted: states wait in registers for their partners, in loops.
constexpr const char* kColumns = R"(
using Shape = ColumnShape<2, 128, 1, 512, 8>;
template <int kSection>
__device__ __forceinline__ void section(const float* x, float* y, int block) {
  Exchange exchange = {shared_memory(), 4096, 0};
  ColumnReduction<Sum<float>, Shape, 4> tree;
  const int column = block * 16 + Shape::column() * 8;
#pragma unroll 1
  for (int part = 0; part < 4; ++part) {
#pragma unroll 1
    for (int i = 0; i < 4; ++i) {
      const Vector<float, 8> row = load<8>(x, (far_first<4>(part) * 512 + i * 128 + Shape::lane()) * 1024 + column);
#pragma unroll
      for (int k = 0; k < 8; ++k) tree.add(k, row[k] * (kSection + 1), 0);
      tree.finish_accumulator(i);
    }
    tree.finish_part(part, exchange);
  }
  Sum<float> sums[8];
  tree.finish(sums, exchange);
  if (Shape::along() == 0)
#pragma unroll
    for (int k = 0; k < 8; ++k) y[column + k] = sums[k].result();
})";

/// A horizontally fused kernel whose blocks run one section after another.
std::string fused_columns(int sections) {
  std::string calls;
  for (int i = 0; i < sections; ++i)
    calls += fmt::format("    if (block % {} == {}) section<{}>(x, y, block);\n", sections, i, i);
  return fmt::format(R"({}
extern "C" __global__ void __launch_bounds__(256) sections(const float* x, float* y) {{
  for (int block = blockIdx.x; block < 400; block += gridDim.x) {{
{}    block_barrier();
  }}
}})",
                     kColumns, calls);
}

int registers_of(const std::string& text) {
  const SourcePart part = {"sections", text};
  const std::string_view prelude = prelude_text(Prelude::cuda);
  return nvrtc().nvrtc->compile(prelude, {&part, 1}, "sm_90").kernels.begin()->second.registers;
}

TEST(Registers, AreFreedBetweenSections) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  EXPECT_LE(registers_of(fused_columns(3)), registers_of(fused_columns(1)) + 16);
}

/// Candidates with fewer threads per row than the first hold more accumulators per thread.
TEST(Spills, DoNotOccurInRowsWithManyReductions) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const std::vector<ReductionFamily> families = reduction_families();
  const auto rows = std::ranges::find(families, "long_rows", &ReductionFamily::name);
  ASSERT_NE(rows, families.end());
  const Program program = plan(parse(graph_text(*rows, DType::f16, {"3, 4095"})),
                               *find_target("h200"), {.symbols = {}}, {.skip = {"fuse_launches"}});
  int seen = 0;
  for (const Kernel& kernel : program.kernels) {
    std::vector<Source> sources;
    for (const Schedule& schedule : kernel.candidates)
      sources.push_back(emit(program, kernel, schedule, fmt::format("rows_{}", sources.size())));
    const NvrtcUnit unit = compile_unit(sources, "sm_90");
    for (std::size_t i = 0; i < sources.size(); ++i)
      EXPECT_EQ(unit.reports[i].spill_bytes, 0) << sources[i].text;
    seen += static_cast<int>(sources.size());
  }
  EXPECT_GE(seen, 5);
}

}  // namespace
}  // namespace sinter::test::spill_nvrtc_test
