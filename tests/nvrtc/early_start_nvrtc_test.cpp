// No load of a kernel that may start early precedes the wait for earlier launches. A kernel whose
// machine code does not prove this starts after them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/compile/early_start.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/execution/make_variant.h"
#include "runtime/saved/read_saved.h"
#include "runtime/support/atomic_file.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/fake_gpu.h"
#include "tests/support/files/golden.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/graphs/patterns.h"

namespace sinter::test::early_start_nvrtc_test {
namespace {

using ::testing::ElementsAre;

/// Keeps the default candidate and one of six others, which the text of the kernel chooses.
void keep_some(EmittedKernel& emitted) {
  constexpr std::size_t kStep = 6;
  const std::size_t first = std::hash<std::string>{}(emitted.sources[0].code_key) % kStep;
  EmittedKernel some;
  for (std::size_t i = 0; i < emitted.sources.size(); ++i) {
    if (i > 0 && i % kStep != first) continue;
    some.sources.push_back(std::move(emitted.sources[i]));
    some.schedules.push_back(emitted.schedules[i]);
  }
  emitted = std::move(some);
}

enum class Candidates { all, some, first };

/// Compiles candidates of every kernel. Each may start early if its text waits.
void expect_no_early_loads(const Program& program, const std::string& arch,
                           Candidates candidates = Candidates::all) {
  for (const Kernel& kernel : program.kernels) {
    EmittedKernel emitted =
        emit_candidates(program, kernel, candidates == Candidates::first ? 1 : SIZE_MAX);
    if (emitted.is_call) continue;
    if (candidates == Candidates::some) keep_some(emitted);
    const NvrtcUnit unit = compile_unit(emitted.sources, arch);
    for (std::size_t i = 0; i < emitted.sources.size(); ++i) {
      const Source& source = emitted.sources[i];
      if (source.may_start_early) {
        EXPECT_TRUE(may_start_early(source, unit.reports[i]))
            << source.entry << " for " << arch << " (" << to_string(emitted.schedules[i])
            << "): " << unit.reports[i].loads_before_wait << " loads before the wait";
      }
    }
  }
}

Program plan_file(const std::filesystem::path& file, const std::string& arch) {
  return plan(parse(read_text(file)), *find_target(arch), {});
}

template <class Parameter>
class NvrtcTestOf : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

/// Graphs of real models. NVRTC 12.9 and 13.0 move loads of some of their candidates in front of
/// the wait if nothing prevents it.
class EarlyStartGraphs : public NvrtcTestOf<std::filesystem::path> {};

TEST_P(EarlyStartGraphs, LoadNothingBeforeTheWait) {
  expect_no_early_loads(plan_file(GetParam(), "sm_90"), "sm_90");
  expect_no_early_loads(plan_file(GetParam(), "sm_120"), "sm_120", Candidates::some);
}

std::string name_of_file(const testing::TestParamInfo<std::filesystem::path>& test) {
  return test.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Files, EarlyStartGraphs,
                         testing::ValuesIn(golden_graphs(SINTER_SOURCE_DIR
                                                         "/tests/golden/early_starts")),
                         name_of_file);

/// Candidates of typical work. All of them would take NVRTC minutes.
class EarlyStartPatterns : public NvrtcTestOf<Pattern> {};

TEST_P(EarlyStartPatterns, LoadNothingBeforeTheWait) {
  expect_no_early_loads(plan_pattern(GetParam()), "sm_90", Candidates::some);
}

std::string name_of_pattern(const testing::TestParamInfo<Pattern>& test) {
  std::string name = test.param.name;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Patterns, EarlyStartPatterns,
                         testing::ValuesIn(patterns(SINTER_SOURCE_DIR "/tests/golden/patterns")),
                         name_of_pattern);

/// Default kernels of every fourth graph of real models, if available ($SINTER_CORPUS), in parts.
class EarlyStartCorpus : public NvrtcTestOf<int> {};

constexpr int kParts = 40;

TEST_P(EarlyStartCorpus, LoadsNothingBeforeTheWait) {
  const char* const corpus = std::getenv("SINTER_CORPUS");
  if (!corpus || !*corpus) GTEST_SKIP() << "SINTER_CORPUS is the folder of a corpus";
  const std::vector<std::filesystem::path> files = golden_graphs(corpus);
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < files.size(); i += 4 * kParts)
    expect_no_early_loads(plan_file(files[i], "sm_90"), "sm_90", Candidates::first);
}

INSTANTIATE_TEST_SUITE_P(Parts, EarlyStartCorpus, testing::Range(0, kParts));

/// Whether each launch had the attribute for an early start.
std::vector<bool>& early_launches() {
  static std::vector<bool> launches;
  return launches;
}

CUresult record_launch(const CUlaunchConfig* config, CUfunction, void**, void**) {
  early_launches().push_back(
      std::ranges::count(std::span(config->attrs, config->numAttrs),
                         CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                         &CUlaunchAttribute::id) > 0);
  return CUDA_SUCCESS;
}

/// A fake GPU of sm_90 that records its launches.
Device recording_gpu() {
  static const Driver driver = [] {
    Driver table = fake_gpu<90>().state()->driver;
    table.cuLaunchKernelEx = record_launch;
    return table;
  }();
  static auto& state = *new DeviceState(driver, 0);
  return Device(&state);
}

class EarlyStartDecision : public testing::Test {
 protected:
  EarlyStartDecision() { early_launches().clear(); }
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }

  /// A kernel that waits before its load, or after it.
  static CompileUnit unit(bool waits_first) {
    const std::string text = fmt::format(
        "extern \"C\" __global__ void __launch_bounds__(32)\n"
        "k(const float* __restrict__ x, float* __restrict__ y) {{\n{}"
        "  const float a = x[threadIdx.x];\n  if (a < 0.0f) return;\n{}"
        "  y[threadIdx.x] = a;\n}}\n",
        waits_first ? kWait : "", waits_first ? "" : kWait);
    return {{{.entry = "k", .text = text, .threads = 32, .may_start_early = true}}};
  }
  /// True if the kernel starts early after a new service, as of a new process, made it.
  bool starts_early(bool waits_first, const std::string& arch = "sm_90") {
    CompileService service(*fake_gpu<90>().state());
    const CompileResult result =
        service.compile(std::vector{unit(waits_first)}, {.arch = arch, .cache = cache})[0];
    was_cached = result.was_cached;
    return result.unit->functions[0].starts_early;
  }

  void run(const Executable& executable) {
    const Device device = recording_gpu();
    Context context = executable.context();
    const Array x = device.empty(f32, {4096}), y = device.empty(f32, {4096});
    context.run(device.stream(), {{"x", x}}, {{"y", y}});
  }
  /// Replaces the images in the saved file at `path` by what NVRTC makes of their changed sources.
  void compile_again(const std::string& arch, const std::string& before_wait) const {
    const FileContents file = read_whole_file(path);
    const SavedExecutable saved = read_saved(file.bytes, path);
    SavedKernels kernels = read_kernels(saved, 0, path);
    ASSERT_EQ(kernels.images.size(), 1U);
    Source source = kernels.variants[0].variant.kernels[0].source;
    const std::size_t wait = source.text.find(kWait);
    ASSERT_NE(wait, std::string::npos);
    source.text.insert(wait, before_wait);
    kernels.images[0] = compile_unit({&source, 1}, arch).image;
    const SavedSection sections[] = {
        {.kind = kProgramSection, .bytes = pack(saved.program)},
        {.kind = kKernelsSection, .name = "sm_90", .bytes = pack(kernels)}};
    const auto fill = [&](const File& to) { return write_saved_file(to, sections); };
    ASSERT_EQ(write_named_file(path, fill), 0);
  }

  static constexpr const char* kWait = "  wait_for_prior_launches();\n";
  ScratchFolder folder;
  std::string path = folder.path() + "/exp.sinterx";
  CacheOptions cache{.mode = CacheMode::read_write, .directory = folder.path() + "/cache"};
  bool was_cached = false;
};

TEST_F(EarlyStartDecision, HoldsForCompiledAndForCachedKernels) {
  for (const bool is_second : {false, true}) {
    EXPECT_TRUE(starts_early(/*waits_first=*/true));
    EXPECT_EQ(was_cached, is_second);
    EXPECT_FALSE(starts_early(/*waits_first=*/false));
    EXPECT_EQ(was_cached, is_second);
  }
}

/// For a GPU that is newer than NVRTC, the driver compiles PTX. Its machine code is not known.
TEST_F(EarlyStartDecision, IsNoForPtx) {
  const int newest = std::ranges::max(nvrtc().nvrtc->architectures());
  EXPECT_FALSE(starts_early(/*waits_first=*/true, fmt::format("sm_{}", newest + 10)));
}

TEST_F(EarlyStartDecision, ReachesLaunches) {
  const Graph graph = parse("graph exps(x: f32[4096]) {\n  y = exp x\n  return y\n}\n");
  const Executable executable = compile(graph, recording_gpu(), {.tune = Tune::off});
  run(executable);
  EXPECT_THAT(early_launches(), ElementsAre(true));
  executable.save(path);

  run(load(path, recording_gpu()));
  EXPECT_THAT(early_launches(), ElementsAre(true, true));
  compile_again("sm_90", "  if (x_in[threadIdx.x] < 0.0f) return;\n");
  run(load(path, recording_gpu()));
  EXPECT_THAT(early_launches(), ElementsAre(true, true, false)) << "a load before the wait";
  compile_again("compute_90", "");
  run(load(path, recording_gpu()));
  EXPECT_THAT(early_launches(), ElementsAre(true, true, false, false)) << "PTX";
}

}  // namespace
}  // namespace sinter::test::early_start_nvrtc_test
