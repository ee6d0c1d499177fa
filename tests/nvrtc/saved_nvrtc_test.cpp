// Executables saved for GPUs that this machine lacks, with real cubins of each architecture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/plan.h"
#include "runtime/compile/kernel_resources.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/execution/make_variant.h"
#include "runtime/saved/read_saved.h"
#include "runtime/support/atomic_file.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/fake_gpu.h"
#include "tests/support/doubles/opaque.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/run/run.h"

namespace sinter::saved_nvrtc_test {
namespace {

using ::testing::EndsWith;
using ::testing::SizeIs;
using ::testing::StartsWith;

Graph rms_norm() {
  return parse(R"(
graph rms_norm(x: bf16[rows, 4096], weight: bf16[4096]) {
  h  = cast x {to = f32}
  sq = mul h, h
  ms = mean sq {axes = [-1], keep = true}
  e  = add ms, 1e-6
  r  = rsqrt e
  n  = mul h, r
  w  = cast weight {to = f32}
  s  = mul n, w
  y  = cast s {to = bf16}
  total = sum s {axes = [0]}
  return y, total
})");
}

class SavedNvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }

  test::ScratchFolder folder;
  std::string path = folder.path() + "/rms_norm.sinterx";
};

TEST_F(SavedNvrtc, HasCubinsForEveryArchitecture) {
  const Executable executable =
      compile(rms_norm(), host_device(), {.tune = Tune::off, .optimize_host = false});
  executable.prepare({{"rows", 512}});
  const std::vector<std::string> archs = {"sm_80", "h100_pcie", "sm_100"};
  executable.save(path, {.archs = archs});

  const FileContents file = read_whole_file(path);
  ASSERT_EQ(file.error, 0);
  const SavedExecutable saved = read_saved(file.bytes, path);
  EXPECT_EQ(saved.archs, (std::vector<std::string>{"sm_80", "sm_90", "sm_100"}));
  std::vector<std::vector<std::byte>> images;
  for (std::size_t i = 0; i < archs.size(); ++i) {
    const SavedKernels kernels = read_kernels(saved, i, path);
    EXPECT_EQ(kernels.target, find_target(archs[i])->name);
    ASSERT_THAT(kernels.variants, SizeIs(1));
    const SavedVariant& variant = kernels.variants[0];
    ASSERT_FALSE(variant.images.empty());
    for (std::size_t k = 0; k < variant.images.size(); ++k) {
      const auto& image = kernels.images[static_cast<std::size_t>(variant.images[k])];
      const KernelResources resources = read_resources(image, "");
      ASSERT_THAT(resources, SizeIs(1)) << "the kernel alone, without other candidates";
      const KernelReport& report = variant.variant.report.kernels[k];
      const auto& [entry, kernel] = *resources.begin();
      EXPECT_EQ(entry, variant.variant.kernels[k].source.entry);
      EXPECT_GT(kernel.registers, 0);
      EXPECT_EQ(report.registers, kernel.registers);
      EXPECT_EQ(report.cubin.arch, saved.archs[i]);
      EXPECT_EQ(report.spill_bytes, 0);
      EXPECT_EQ(report.tuning, "saved for a GPU that was not available: the default schedule");
      images.push_back(image);
    }
  }
  std::ranges::sort(images);
  EXPECT_EQ(std::ranges::adjacent_find(images), images.end()) << "each is of its own architecture";
  EXPECT_THAT(
      test::error_of([&] { load(path, host_device()); }),
      ::testing::AllOf(
          StartsWith("load: " + path + " has kernels for sm_80, sm_90, sm_100, but none for "),
          EndsWith("; save it with options.archs = {\"host\"} (sinter compile --arch host)")));
}

TEST_F(SavedNvrtc, SavesForTheHostDeviceAndGpus) {
  const Graph graph = rms_norm();
  const Executable executable =
      compile(graph, host_device(), {.tune = Tune::off, .optimize_host = false});
  executable.prepare({{"rows", 512}});
  executable.save(path, {.archs = {"sm_90", "host"}});
  const Executable loaded = load(path, host_device());
  EXPECT_EQ(loaded.report().kernels[0].name, executable.report().kernels[0].name);
}

/// Saved opaque calls run between the kernels, on every saved architecture.
TEST_F(SavedNvrtc, SavesOpaqueCalls) {
  int calls = 0;
  const test::Registered plus("plus", {.enqueue = [&](const OpaqueCall& call) {
                                EXPECT_FALSE(call.is_host_device);
                                EXPECT_EQ(call.inputs[0].shape[0], 7);
                                EXPECT_EQ(call.text("mode"), "fast");
                                ++calls;
                                return 0;
                              }});
  const Executable executable = compile(parse(R"(
graph add(x: f32[n]) {
  d = mul x, 2.0
  y = opaque plus d {mode = "fast"} : f32[n]
  z = neg y
  return z
})"),
                                        host_device(), {.tune = Tune::off, .optimize_host = false});
  executable.prepare({{"n", 512}});
  executable.save(path, {.archs = {"sm_80", "sm_90"}});
  const Device device = test::fake_gpu<90>();
  const Executable loaded = load(path, device);
  EXPECT_EQ(loaded.report().kernels[1].tuning, "an opaque call has no candidates");
  Context context = loaded.context();
  const Array x = device.empty(f32, {7}), z = device.empty(f32, {7});
  context.run(device.stream(), {{"x", x}}, {{"z", z}});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(context.counters().kernel_launches, 3) << "a call is one too";
}

/// Kernels for the GPU of the executable are saved as they are. Others are planned by `save`.
TEST_F(SavedNvrtc, SavesKernelsOfTheExecutablesGpuUnchanged) {
  const Executable executable = compile(rms_norm(), test::fake_gpu<90>(), {.force_candidate = 1});
  executable.prepare({{"rows", 512}});
  executable.save(path, {.archs = {"sm_80", "sm_90"}});
  test::loaded_images().clear();
  const Executable loaded = load(path, test::fake_gpu<90>());
  const Report there = executable.report();
  const Report here = loaded.report();
  EXPECT_EQ(here.target, "a GPU");
  ASSERT_EQ(here.kernels.size(), there.kernels.size());
  for (std::size_t i = 0; i < here.kernels.size(); ++i) {
    EXPECT_EQ(here.kernels[i].schedule, there.kernels[i].schedule);
    EXPECT_EQ(here.kernels[i].tuning, "candidate 1 was forced");
  }
  EXPECT_THAT(test::loaded_images(), ::testing::Each(StartsWith("\x7f"
                                                                "ELF")));
  const Report old = load(path, test::fake_gpu<80, 166912>()).report();
  EXPECT_EQ(old.target, "a100");
  EXPECT_EQ(old.kernels[0].tuning, "saved for a GPU that was not available: the default schedule");
  EXPECT_NE(old.kernels[0].schedule, here.kernels[0].schedule);
}

constexpr char kH200[] = "NVIDIA H200";

/// Options may name a GPU, its architecture, or both.
TEST_F(SavedNvrtc, MatchesTheExecutablesGpuByName) {
  const Device device = test::fake_gpu<90, 232448, 2, kH200>();
  const Executable executable = compile(rms_norm(), device, {.force_candidate = 1});
  executable.prepare({{"rows", 512}});
  for (const std::vector<std::string>& archs : std::vector<std::vector<std::string>>{
           {"h200"}, {"sm_90", "h200"}, {"h200", "sm_80", "sm_90"}}) {
    executable.save(path, {.archs = archs});
    EXPECT_EQ(load(path, device).report().kernels[0].tuning, "candidate 1 was forced");
  }
  const std::string error = test::error_of([&] {
    executable.save(path, {.archs = {"h200", "h100"}});
  });
  EXPECT_THAT(error,
              StartsWith("save rms_norm: options.archs has sm_90 twice; name one GPU of each"));
}

/// A kernel compiles to the same code alone and in a unit with all candidates.
TEST_F(SavedNvrtc, SingleKernelsMatchKernelsOfCandidateUnits) {
  const Graph graph = rms_norm();
  const Program program = plan(graph, *find_target("sm_90"), {.symbols = {512}});
  for (const Kernel& kernel : program.kernels) {
    const EmittedKernel emitted = emit_candidates(program, kernel, 4);
    const NvrtcUnit together = compile_unit(emitted.sources, "sm_90");
    for (std::size_t i = 0; i < emitted.sources.size(); ++i) {
      const NvrtcUnit alone = compile_unit(std::span(&emitted.sources[i], 1), "sm_90");
      EXPECT_EQ(alone.reports[0].registers, together.reports[i].registers);
      EXPECT_EQ(alone.reports[0].instructions, together.reports[i].instructions);
      EXPECT_EQ(alone.reports[0].spill_bytes, together.reports[i].spill_bytes);
    }
  }
}

}  // namespace
}  // namespace sinter::saved_nvrtc_test
