// The cluster functions of the prelude compile for every GPU, and use cluster instructions from
// sm_90 on. Candidates with clusters do not spill.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "codegen/emit.h"
#include "codegen/prelude/prelude.h"
#include "compiler/plan.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "sinter/text.h"

namespace sinter::test::cluster_nvrtc_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr SourcePart kRemoteStore = {"remote_store", R"(
extern "C" __global__ void __launch_bounds__(128) remote_store(float* y) {
  float* cells = reinterpret_cast<float*>(shared_memory());
  cluster_arrive_relaxed();
  cluster_wait();
  if (threadIdx.x == 0) *cluster_map(cells, 1) = static_cast<float>(cluster_rank());
  cluster_arrive();
  cluster_wait();
  store(y, blockIdx.x * 128 + threadIdx.x, cells[0]);
}
)"};

class Clusters : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
  static std::string ptx_for(const std::string& arch) {
    return nvrtc().nvrtc->compile(prelude_text(Prelude::cuda), {&kRemoteStore, 1}, arch).ptx;
  }
};

TEST_F(Clusters, SynchronizeAndMapSharedMemory) {
  for (const char* arch : {"sm_90", "sm_100", "sm_120"})
    EXPECT_THAT(ptx_for(arch),
                AllOf(HasSubstr("barrier.cluster.arrive.relaxed"),
                      HasSubstr("barrier.cluster.arrive.release"),
                      HasSubstr("barrier.cluster.wait.acquire"), HasSubstr("mapa.u64")))
        << arch;
  EXPECT_THAT(ptx_for("sm_80"), Not(HasSubstr("cluster")));
}

/// Returns the number of candidates with clusters of the kernels of `text`. Expects that none
/// spills.
int clusters_without_spills(std::string_view text) {
  const Program program =
      plan(parse(text), *find_target("h200"), {.symbols = {}}, {.skip = {"fuse_launches"}});
  int clusters = 0;
  for (const Kernel& kernel : program.kernels) {
    std::vector<Source> sources;
    for (const Schedule& schedule : kernel.candidates) {
      if (schedule.cluster == 1) continue;
      sources.push_back(
          emit(program, kernel, schedule, kernel.name + "_" + std::to_string(sources.size())));
      ++clusters;
    }
    if (sources.empty()) continue;
    const NvrtcUnit unit = compile_unit(sources, "sm_90");
    for (std::size_t i = 0; i < sources.size(); ++i)
      EXPECT_EQ(unit.reports[i].spill_bytes, 0) << sources[i].text;
  }
  return clusters;
}

TEST_F(Clusters, RowCandidatesDoNotSpill) {
  EXPECT_GE(clusters_without_spills(R"(
graph rows(x: f32[9, 131072], h: bf16[9, 131072]) {
  y = softmax x {axis = 1}
  g = cast h {to = f32}
  v, m = var_mean g {axes = [1], keep = true}
  d = sub g, m
  r = rsqrt v
  n = mul d, r
  z = cast n {to = bf16}
  return y, z
})"),
            6);
}

TEST_F(Clusters, ColumnCandidatesDoNotSpill) {
  EXPECT_GE(clusters_without_spills(R"(
graph columns(x: bf16[8192, 384], weight: f32[384], z: f32[9001, 129], h: f16[16384, 1024]) {
  g = cast x {to = f32}
  v, m = var_mean g {axes = [0], keep = true}
  d = sub g, m
  r = rsqrt v
  n = mul d, r
  w = mul n, weight
  y = cast w {to = bf16}
  l = logsumexp z {axes = [0], keep = true}
  a = argmax z {axis = 0}
  p = sub z, l
  s = softmax h {axis = 0}
  return y, m, p, a, s
})"),
            12);
}

/// Row-column kernels: each block of a cluster has its own rows, or a part of one row.
TEST_F(Clusters, RowColumnCandidatesDoNotSpill) {
  for (const char* shape : {"[4096, 1536]", "[32768, 768]", "[8192, 29056]", "[2048, 20005]"}) {
    std::string text = R"(
graph gradient(x: bf16SHAPE, g: bf16SHAPE) {
  h = cast x {to = f32}
  f = cast g {to = f32}
  p = mul h, f
  s = sum p {axes = [1], keep = true}
  m = mul h, s
  d = sub f, m
  y = cast d {to = bf16}
  c = sum d {axes = [0]}
  return y, c
})";
    for (std::size_t at = text.find("SHAPE"); at != text.npos; at = text.find("SHAPE"))
      text.replace(at, 5, shape);
    const Program program = plan(parse(text), *find_target("h200"), {.symbols = {}}, {});
    ASSERT_EQ(program.kernels.size(), 1U);
    const Kernel& kernel = program.kernels[0];
    ASSERT_EQ(kernel.kind, KernelKind::row_column_reduce);
    const auto has_cluster = [](const Schedule& schedule) { return schedule.cluster > 1; };
    const auto first = std::ranges::find_if(kernel.candidates, has_cluster);
    ASSERT_NE(first, kernel.candidates.end()) << shape;
    const Source source = emit(program, kernel, *first, "gradient");
    EXPECT_EQ(compile_unit({&source, 1}, "sm_90").reports[0].spill_bytes, 0) << source.text;
  }
}

}  // namespace
}  // namespace sinter::test::cluster_nvrtc_test
