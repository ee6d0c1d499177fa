// Every golden kernel compiles to a cubin under every candidate schedule, without a GPU. Default
// schedules do not spill, registers fit the launch bounds, and loads are as wide as planned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/prelude/select_prelude.h"
#include "compiler/target/target.h"
#include "runtime/compile/early_start.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "sinter/text.h"
#include "tests/support/files/golden.h"
#include "tests/support/graphs/random_graph.h"

namespace sinter::test::kernels_nvrtc_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/kernels";

struct Emitted {
  Source source;
  Schedule schedule;
  bool is_default = false;
};

/// The first `most` candidates of every kernel; `prefix` makes the names of programs distinct.
std::vector<Emitted> emit_all(const Program& program, std::string_view prefix = "",
                              std::size_t most = SIZE_MAX) {
  std::vector<Emitted> result;
  for (const Kernel& kernel : program.kernels)
    for (std::size_t i = 0; i < std::min(most, kernel.candidates.size()); ++i) {
      const std::string entry = fmt::format("{}{}_c{}", prefix, kernel.name, i);
      const Schedule& schedule = kernel.candidates.list()[i];
      Source source = emit(program, kernel, schedule, entry);
      source.code_key = anonymous_text(program, kernel, schedule);
      result.push_back({.source = std::move(source), .schedule = schedule, .is_default = i == 0});
    }
  return result;
}

/// Kernels without duplicates: one per distinct code.
class DistinctKernels {
 public:
  void add(std::vector<Emitted> more) {
    for (Emitted& kernel : more)
      if (codes_.insert(kernel.source.code_key).second) kernels_.push_back(std::move(kernel));
  }
  const std::vector<Emitted>& list() const { return kernels_; }

 private:
  std::set<std::string> codes_;
  std::vector<Emitted> kernels_;
};

NvrtcOutput compile_for(const std::vector<Emitted>& kernels, const std::string& arch) {
  std::vector<SourcePart> parts;
  std::vector<std::string_view> texts;
  for (const Emitted& kernel : kernels) {
    parts.push_back({kernel.source.entry, kernel.source.text});
    texts.push_back(kernel.source.text);
  }
  return nvrtc().nvrtc->compile(prelude_for(texts), parts, arch);
}

/// Compiles `kernels` and checks the registers and spills of each.
void expect_good_cubins(const std::vector<Emitted>& kernels, const std::string& arch) {
  const NvrtcOutput output = compile_for(kernels, arch);
  for (const Emitted& kernel : kernels) {
    const std::string& entry = kernel.source.entry;
    const auto found = output.kernels.find(entry);
    ASSERT_NE(found, output.kernels.end()) << entry;
    EXPECT_LE(found->second.registers * kernel.schedule.threads, 65536) << entry;
    if (compute_capability_of(arch) >= 90) {  // older GPUs have no wait for earlier launches
      EXPECT_EQ(may_start_early(kernel.source, found->second), kernel.source.may_start_early)
          << entry << ": " << found->second.loads_before_wait << " loads before the wait";
    }
    if (!kernel.is_default || found->second.spill_bytes == 0) continue;
    // compile_unit compiles kernels that spill again, with fewer blocks per SM.
    EXPECT_EQ(compile_unit({&kernel.source, 1}, arch).reports[0].spill_bytes, 0)
        << entry << ": " << to_string(kernel.schedule) << "\n"
        << kernel.source.text;
  }
}

class Cubins : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

/// All candidates on one architecture, and the first two on the others.
TEST_P(Cubins, EveryGoldenKernelCompiles) {
  const std::size_t most = GetParam() == "sm_90" ? SIZE_MAX : 2;
  DistinctKernels kernels;
  for (const auto& file : golden_graphs(kFolder))
    kernels.add(emit_all(plan_golden(file).program, "", most));
  expect_good_cubins(kernels.list(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Architectures, Cubins, testing::Values("sm_75", "sm_80", "sm_90"));

/// The kernels that the host tests run, fused and unfused, compile for a GPU too.
class MoreCubins : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

TEST_P(MoreCubins, RunGraphsCompile) {
  DistinctKernels kernels;
  for (const auto& file : golden_graphs(SINTER_SOURCE_DIR "/tests/golden/run"))
    kernels.add(emit_all(plan_golden(file, {.fuse = GetParam()}).program, "", 1));
  expect_good_cubins(kernels.list(), "sm_90");
}

TEST_P(MoreCubins, RandomGraphsCompile) {
  DistinctKernels kernels;
  for (unsigned seed = 0; seed < 32; ++seed) {
    const RandomGraph random = random_graph(seed, /*ops=*/16);
    const Program program =
        plan(random.graph, *find_target("sm_90"), {.symbols = random.sizes}, {.fuse = GetParam()});
    kernels.add(emit_all(program, fmt::format("s{}_", seed), 1));
  }
  expect_good_cubins(kernels.list(), "sm_90");
}

INSTANTIATE_TEST_SUITE_P(FusedAndUnfused, MoreCubins, testing::Bool());

TEST(Ptx, AccessesAreAsWideAsPlanned) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  for (const std::string name : {"softmax", "rms_norm", "bias_relu", "full_sum", "column_sum"}) {
    const GoldenProgram golden = plan_golden(std::string(kFolder) + "/" + name + ".sinter");
    const std::vector<Emitted> kernels = emit_all(golden.program);
    const NvrtcOutput output = compile_for({kernels[0]}, "sm_90");
    EXPECT_NE(output.ptx.find(".v4."), std::string::npos) << name << "\n" << output.ptx;
  }
}

/// Elements that are read again stay in the L2 cache; those read for the last time leave first.
TEST(Ptx, CacheHintsReachTheInstructions) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  for (const DType dtype : {f32, bf16, f64, u8}) {
    const Graph graph = parse(fmt::format(R"(
graph rows(x: {}[1024, columns]) {{
  h = cast x {{to = f32}}
  y = softmax h {{axis = 1}}
  return y
}})",
                                          name(dtype)));
    const Program program = plan(graph, *find_target("sm_90"), {.symbols = {2000000}}, {});
    const std::vector<Emitted> kernels = emit_all(program, "", 2);
    ASSERT_TRUE(kernels.at(1).schedule.has_hints);
    const std::string ptx = compile_for({kernels[1]}, "sm_90").ptx;
    EXPECT_THAT(ptx, testing::HasSubstr("ld.global.cs.nc.")) << name(dtype);
    EXPECT_THAT(ptx, testing::HasSubstr("ld.global.nc.L2::cache_hint.")) << name(dtype);
    const std::size_t wait = ptx.find("griddepcontrol.wait");
    ASSERT_NE(wait, std::string::npos);
    EXPECT_LT(wait, ptx.find("ld.global")) << ptx;
    EXPECT_NO_THROW(compile_for({kernels[1]}, "sm_75"));
  }
}

/// Loads and stores move 16 bytes: no access to memory is element by element.
TEST(Ptx, TilesUseVectorsAlongBothAxes) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  for (const std::string name : {"transpose_add", "to_channels_last"}) {
    const GoldenProgram golden = plan_golden(std::string(kFolder) + "/" + name + ".sinter");
    const std::vector<Emitted> kernels = emit_all(golden.program);
    ASSERT_GT(kernels[0].schedule.tile, 0) << name;
    const std::string ptx = compile_for({kernels[0]}, "sm_90").ptx;
    EXPECT_THAT(ptx, testing::ContainsRegex("ld\\.global\\.nc\\.v4")) << name;
    EXPECT_THAT(ptx, testing::ContainsRegex("st\\.global\\.v4")) << name;
    EXPECT_THAT(ptx,
                testing::Not(testing::ContainsRegex("(ld|st)\\.global(\\.nc)?\\.[a-uw-z][0-9]+")))
        << name;
    EXPECT_THAT(ptx, testing::HasSubstr("ld.shared")) << name;
  }
}

/// Operands of several dtypes, results in both layouts, and odd extents.
TEST(TiledCubins, NoCandidateSpills) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  for (const std::string columns : {"1024", "1021"}) {
    const Graph graph = parse(fmt::format(R"(
graph tiles(a: f32[2048, {0}], b: bf16[{0}, 2048], c: f64[{0}, 2048], d: i8[{0}, 2048]) {{
  p = permute b {{axes = [1, 0]}}
  q = permute c {{axes = [1, 0]}}
  r = permute d {{axes = [1, 0]}}
  h = cast p {{to = f32}}
  g = cast q {{to = f32}}
  i = cast r {{to = f32}}
  s = add a, h
  t = mul s, g
  u = tanh t
  y = sub u, i
  z = cast y {{to = bf16}}
  return y, z {{strides = [1, 2048]}}
}})",
                                          columns));
    const Program program = plan(graph, *find_target("sm_90"), {});
    std::vector<Emitted> kernels = emit_all(program);
    std::erase_if(kernels, [](const Emitted& kernel) { return kernel.schedule.tile == 0; });
    ASSERT_GT(kernels.size(), 2U);
    const NvrtcOutput output = compile_for(kernels, "sm_90");
    for (const auto& [entry, kernel] : output.kernels)
      EXPECT_EQ(kernel.spill_bytes, 0) << entry << ", " << kernel.registers << " registers";
  }
}

/// A thread divides 16 vectors of its row, but the code contains the divisions of one vector.
TEST(Ptx, EmitsTheDivisionsOfAResidentRowOnce) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const Graph graph = parse(R"(
graph softmax(x: f32[8192, 16384]) {
  y = softmax x {axis = 1}
  return y
})");
  const Program program = plan(graph, *find_target("h200"), {});
  const NvrtcOutput output = compile_for({emit_all(program)[0]}, "sm_90");
  std::size_t divisions = 0;
  for (std::size_t at = 0; (at = output.ptx.find("div.rn.f32", at)) != output.ptx.npos; ++at)
    ++divisions;
  EXPECT_EQ(divisions, 4U);
  EXPECT_EQ(output.kernels.begin()->second.spill_bytes, 0);
}

TEST(Ptx, ProductsAndSumsAreNotContracted) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const GoldenProgram golden = plan_golden(std::string(kFolder) + "/sgd.sinter");
  const NvrtcOutput output = compile_for({emit_all(golden.program)[0]}, "sm_90");
  EXPECT_NE(output.ptx.find("mul.rn.f32"), output.ptx.npos) << output.ptx;
  EXPECT_EQ(output.ptx.find("fma"), output.ptx.npos) << output.ptx;
}

}  // namespace
}  // namespace sinter::test::kernels_nvrtc_test
