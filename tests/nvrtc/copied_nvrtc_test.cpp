// Pointwise and row kernels with asynchronous copies, compiled by NVRTC: the instructions that
// copy, and the registers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "compiler/target/target.h"
#include "runtime/compile/early_start.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "sinter/explain.h"
#include "sinter/text.h"
#include "tests/support/graphs/copied_graphs.h"

namespace sinter::test::copied_nvrtc_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CopiedCubins : public testing::TestWithParam<CopiedGraph> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

void expect_copies(const Schedule& schedule, const Source& source, const Target& target) {
  SCOPED_TRACE(fmt::format("{}: {}\n{}", target.arch, to_string(schedule), source.text));
  const NvrtcUnit unit = compile_unit({&source, 1}, std::string(target.arch));
  const bool is_bulk = schedule.copies == Copies::bulk;
  EXPECT_EQ(unit.reports[0].spill_bytes, 0);
  // With the real registers, too, an SM has enough bytes in flight.
  const int blocks =
      blocks_per_sm(target, source.threads, unit.reports[0].registers, source.shared_bytes);
  EXPECT_GE(blocks * source.copied_ahead, 64 * 1024) << unit.reports[0].registers;
  EXPECT_THAT(unit.ptx, HasSubstr(is_bulk ? "cp.async.bulk.shared" : "cp.async.wait_group"));
  EXPECT_THAT(unit.ptx, Not(HasSubstr(is_bulk ? "cp.async.wait_group" : "cp.async.bulk")));
  // The vectors are read from shared memory as they were copied.
  EXPECT_THAT(unit.ptx, HasSubstr("ld.shared.v"));
  EXPECT_EQ(may_start_early(source, unit.reports[0]), source.may_start_early);
}

TEST_P(CopiedCubins, CopyWithoutSpills) {
  const CopiedGraph& graph = GetParam();
  for (const std::string arch : {"sm_80", "sm_90", "sm_100", "sm_120"}) {
    const std::int64_t n = graph.sizes.empty() ? 0 : graph.sizes[0].value;
    const Target target = with_few_sms(arch);
    const Program program = plan(parse(graph.text), target, {.symbols = {n}}, {});
    const Kernel& kernel = program.kernels.at(0);
    int found = 0;
    for (const Schedule& schedule : kernel.candidates)
      if (schedule.copies != Copies::none) {
        ++found;
        expect_copies(schedule, emit(program, kernel, schedule, "k"), target);
      }
    EXPECT_GT(found, 0) << arch;
  }
}

std::string name_of(const testing::TestParamInfo<CopiedGraph>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(Pointwise, CopiedCubins, testing::ValuesIn(copied_graphs()), name_of);
INSTANTIATE_TEST_SUITE_P(Rows, CopiedCubins, testing::ValuesIn(copied_row_graphs()), name_of);

/// Machine code has the copies behind the wait for earlier launches. The decoder sees them: without
/// the wait, they count as early loads.
TEST(CopiedCode, CopiesAreLoadsInMachineCode) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const auto early_loads = [](const char* copy, const char* arch) {
    const std::string text = fmt::format(R"(
extern "C" __global__ void f(const float4* x, float4* y) {{
  __shared__ alignas(16) float4 tile[64];
  __shared__ unsigned long long barrier;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  {}
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];
}})",
                                         copy);
    const SourcePart part = {"f", text};
    return nvrtc().nvrtc->compile("", {&part, 1}, arch).kernels.at("f").loads_before_wait;
  };
  const char* const thread_copy =
      R"(asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.wait_all;"
                 :: "r"(to), "l"(x + threadIdx.x) : "memory");)";
  const char* const bulk_copy =
      R"(asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];"
                 :: "r"(to), "l"(x), "r"(at) : "memory");)";
  for (const char* const arch : {"sm_80", "sm_90", "sm_100", "sm_120"})
    EXPECT_EQ(early_loads(thread_copy, arch), 1) << arch;
  for (const char* const arch : {"sm_90", "sm_100", "sm_120"})
    EXPECT_EQ(early_loads(bulk_copy, arch), 1) << arch;
}

/// `explain` of a candidate shows the bytes of its copies.
TEST(CopiedCode, ExplainShowsTheBytesInFlight) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const Graph graph = parse(R"(
graph scaled(x: bf16[67108864]) {
  y = mul x, 0.5
  return y
})");
  int found = 0;
  for (const char* const target : {"a100", "h200", "b200"})
    for (int candidate = 0; candidate < 6; ++candidate) {
      const Explanation explanation =
          explain(graph, {}, Options{.target = target, .force_candidate = candidate});
      const KernelExplanation& kernel = explanation.kernels.at(0);
      if (kernel.report.schedule.find("copies") == std::string::npos) continue;
      ++found;
      EXPECT_GE(kernel.bytes_in_flight, 64 * 1024) << target << ": " << kernel.report.schedule;
      for (const AccessReport& array : kernel.arrays)
        EXPECT_EQ(array.problem, "") << target << ": " << array.array;
    }
  EXPECT_EQ(found, 2 + 3 + 3);
}

}  // namespace
}  // namespace sinter::test::copied_nvrtc_test
