// Loading saved executables on fake GPUs of several architectures. The driver is a stub; neither a
// GPU nor a compiler is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include <elf.h>

#include <fmt/format.h>

#include "runtime/device/nearest_target.h"
#include "runtime/execution/executable_state.h"
#include "runtime/execution/make_variant.h"
#include "runtime/saved/saved_file.h"
#include "runtime/saved/saved_program.h"
#include "runtime/saved/saved_weights.h"
#include "sinter/counters.h"
#include "sinter/executable.h"
#include "sinter/saved.h"
#include "sinter/text.h"
#include "tests/support/doubles/fake_gpu.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::load_on_gpu_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::string_view kGraph = R"(graph softmax(x: f32[rows, 96]) {
  m = max x {axes = [-1], keep = true}
  d = sub x, m
  e = exp d
  s = sum e {axes = [-1], keep = true}
  y = div e, s
  return y
})";

struct Kind {
  bool is_cooperative = false;
  bool is_machine_code = false;  ///< false: the images are texts, like PTX
};

class LoadOnGpu : public ::testing::Test {
 protected:
  LoadOnGpu() { test::loaded_images().clear(); }

  /// Writes a file with kernels for `archs`. Each image names its architecture.
  void save(const std::vector<std::string>& archs, const Kind& kind = {},
            const std::vector<SavedSection>& weights = {}) const {
    const Graph graph = parse(kGraph);
    std::vector<SavedSection> sections = {{kProgramSection, "",
                                           pack(SavedProgram{.graph = print(graph),
                                                             .name = "softmax",
                                                             .inputs = {"x"},
                                                             .outputs = {"y"},
                                                             .symbols = {"rows"}})}};
    for (const std::string& arch : archs) {
      const Target& target = *find_target(arch);
      SavedKernels kernels{.arch = arch, .target = std::string(target.name)};
      SavedVariant& saved = kernels.variants.emplace_back();
      saved.sizes = {64};
      saved.variant.program = plan(graph, target, {.symbols = saved.sizes});
      for (const Kernel& kernel : saved.variant.program.kernels) {
        EmittedKernel emitted = emit_candidates(saved.variant.program, kernel, 1);
        emitted.sources[0].is_cooperative = kind.is_cooperative;
        emitted.sources[0].shared_bytes = arch == "sm_80" ? 120000 : 0;
        saved.images.push_back(static_cast<int>(kernels.images.size()));
        saved.variant.report.kernels.push_back({.name = emitted.sources[0].entry});
        kernels.images.push_back(kind.is_machine_code ? empty_elf() : text_for(arch));
        saved.variant.kernels.push_back(
            {.source = std::move(emitted.sources[0]), .schedule = emitted.schedules[0]});
      }
      saved.variant.report.sizes = {"rows = 64"};
      sections.push_back({kKernelsSection, arch, pack(kernels)});
    }
    sections.insert(sections.end(), weights.begin(), weights.end());
    const auto fill = [&](const File& to) { return write_saved_file(to, sections); };
    EXPECT_EQ(write_named_file(path, fill), 0);
  }

  static std::vector<std::byte> text_for(const std::string& arch) {
    const std::string text = "// for " + arch;
    const auto bytes = std::as_bytes(std::span(text.c_str(), text.size() + 1));
    return {bytes.begin(), bytes.end()};
  }
  /// Machine code without a kernel.
  static std::vector<std::byte> empty_elf() {
    struct {
      Elf64_Ehdr header{};
      Elf64_Shdr section{};
    } image;
    std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
    image.header.e_shnum = 1;
    image.header.e_shentsize = sizeof image.section;
    image.header.e_shoff = sizeof image.header;
    const auto bytes = std::as_bytes(std::span(&image, 1));
    return {bytes.begin(), bytes.end()};
  }

  test::ScratchFolder folder;
  std::string path = folder.path() + "/softmax.sinterx";
};

TEST_F(LoadOnGpu, TakesTheKernelsOfTheArchitecture) {
  save({"sm_80", "sm_90", "sm_86"});
  const Executable loaded = load(path, test::fake_gpu<90>());
  EXPECT_THAT(test::loaded_images(), ElementsAre("// for sm_90"));
  EXPECT_EQ(loaded.report().target, "h200");
  EXPECT_THAT(loaded.report().variants, SizeIs(1));
  Context context = loaded.context();
  const Device device = test::fake_gpu<90>();
  const Array x = device.empty(f32, {7, 96}), y = device.empty(f32, {7, 96});
  context.run(device.stream(), {{"x", x}}, {{"y", y}});
  EXPECT_EQ(context.counters().kernel_launches, 1);
}

TEST_F(LoadOnGpu, TakesTheNearestCompatibleKernels) {
  save({"sm_80", "sm_90", "sm_86"});
  load(path, test::fake_gpu<89>());
  EXPECT_THAT(test::loaded_images(), ElementsAre("// for sm_86"));
}

/// The driver compiles PTX for every GPU that is not older.
TEST_F(LoadOnGpu, TakesPtxOfAnOlderArchitecture) {
  save({"sm_80", "sm_90", "sm_86"});
  load(path, test::fake_gpu<120>());
  EXPECT_THAT(test::loaded_images(), ElementsAre("// for sm_90"));
  test::loaded_images().clear();
  EXPECT_THAT(test::error_of([&] { load(path, test::fake_gpu<75>()); }),
              HasSubstr(" has kernels for sm_80, sm_90, sm_86, but none for a GPU (sm_75)"));
  EXPECT_THAT(test::loaded_images(), IsEmpty());
}

TEST_F(LoadOnGpu, ListsTheSavedArchitectures) {
  save({"sm_80", "sm_90", "sm_86"}, {.is_machine_code = true});
  EXPECT_EQ(test::error_of([&] { load(path, test::fake_gpu<120>()); }),
            "load: " + path +
                " has kernels for sm_80, sm_90, sm_86, but none for a GPU (sm_120); save it with "
                "options.archs = {\"sm_120\"} (sinter compile --arch sm_120)");
  EXPECT_THAT(test::loaded_images(), IsEmpty());
  // Architectures for which sinter has no target.
  EXPECT_THAT(
      test::error_of([&] { load(path, test::fake_gpu<107>()); }),
      EndsWith(
          " (sm_107); save it with options.archs = {\"sm_103\"} (sinter compile --arch sm_103)"));
  EXPECT_THAT(test::error_of([&] { load(path, test::fake_gpu<130>()); }),
              EndsWith(" (sm_130); sinter cannot save kernels for it; compile it there"));
}

TEST_F(LoadOnGpu, RejectsCooperativeBlocksThatDoNotFit) {
  save({"sm_90"}, {.is_cooperative = true});
  EXPECT_EQ(test::error_of([&] { load(path, test::fake_gpu<90>()); }), "(nothing thrown)");
  EXPECT_THAT(test::error_of<UserError>([&] { load(path, test::fake_gpu<90, 101376, 0>()); }),
              ::testing::AllOf(StartsWith("load: " + path + ": kernel softmax_"),
                               HasSubstr(" was planned for h200 (sm_90): a block of "),
                               EndsWith(" does not fit on a GPU; save it for sm_90")));
}

/// A plan for the largest GPU of an architecture may not fit a smaller one.
TEST_F(LoadOnGpu, RejectsTooMuchSharedMemory) {
  save({"sm_80"});
  load(path, test::fake_gpu<80, 166912>());
  EXPECT_THAT(test::loaded_images(), ElementsAre("// for sm_80"));
  EXPECT_THAT(test::error_of([&] { load(path, test::fake_gpu<86>()); }),
              ::testing::AllOf(StartsWith("load: " + path + ": kernel softmax_"),
                               EndsWith(" was planned for a100 (sm_80): a block takes 120000 bytes "
                                        "of shared memory, but a GPU has 101376; save it for "
                                        "sm_86")));
}

/// The parameter sizes in bytes that the stub reports for every kernel.
std::vector<std::size_t>& parameters() {
  static std::vector<std::size_t> bytes;
  return bytes;
}

/// An image of another kernel with the same name would interpret other parameters as addresses.
TEST_F(LoadOnGpu, RejectsImagesWithOtherParameters) {
  static const Driver driver = [] {
    Driver table = test::fake_gpu<90>().state()->driver;
    table.cuFuncGetParamInfo = [](CUfunction, std::size_t index, std::size_t* offset,
                                  std::size_t* bytes) {
      if (index >= parameters().size()) return CUDA_ERROR_INVALID_VALUE;
      *offset = 8 * index;
      *bytes = parameters()[index];
      return CUDA_SUCCESS;
    };
    return table;
  }();
  static auto& state = *new DeviceState(driver, 0);
  save({"sm_90"});
  const auto error_with = [&](const std::vector<std::size_t>& bytes) {
    parameters() = bytes;
    return test::error_of<UserError>([&] { load(path, Device(&state)); });
  };
  EXPECT_EQ(error_with({8, 8, 4}), "(nothing thrown)");
  EXPECT_THAT(error_with({8, 8, 4, 4}),
              ::testing::AllOf(StartsWith("load: " + path + " is invalid: kernel softmax_"),
                               EndsWith(" takes 4 parameters, but the plan has 3; save it again")));
  EXPECT_THAT(error_with({8, 8}),
              EndsWith(" takes 2 parameters, but the plan has 3; save it again"));
  EXPECT_THAT(error_with({8, 8, 8}),
              EndsWith(" takes 8 bytes as parameter 2, but the plan has 4; save it again"));
  EXPECT_THAT(error_with({4, 8, 4}),
              EndsWith(" takes 4 bytes as parameter 0, but the plan has 8; save it again"));
}

TEST_F(LoadOnGpu, RejectsOtherSizesWithoutCompiling) {
  save({"sm_90"});
  const Executable loaded = load(path, test::fake_gpu<90>());
  const std::int64_t rows = std::int64_t{1} << 28;
  EXPECT_THAT(test::error_of([&] {
                loaded.prepare({{"rows", rows}});
              }),
              StartsWith(fmt::format("softmax: {} has no kernels for [rows = {}]: ", path, rows)));
}

TEST(NearestTarget, MatchesTheDeviceName) {
  const auto nearest = [](std::string_view name, std::string_view arch) {
    const NearestTarget found = nearest_target(name, arch);
    return fmt::format("{} {}", found.target->name, found.is_named);
  };
  EXPECT_EQ(nearest("NVIDIA H200", "sm_90"), "h200 true");
  EXPECT_EQ(nearest("NVIDIA H100 PCIe", "sm_90"), "h100_pcie true");
  EXPECT_EQ(nearest("NVIDIA H20", "sm_90"), "h200 false");
  EXPECT_EQ(nearest("NVIDIA A100-SXM4-80GB", "sm_80"), "a100 true");
  EXPECT_EQ(nearest("NVIDIA H200", "sm_1"), "h200 false");
  EXPECT_EQ(nearest("NVIDIA B300", "sm_103"), "sm_103 false");
  EXPECT_EQ(nearest("a later GPU", "sm_130"), "sm_121 false");
}

/// A load copies each weight once. Runs copy nothing.
TEST_F(LoadOnGpu, CopiesWeightsOnce) {
  constexpr std::int64_t kBytes = 64 * 96 * 4;
  save({"sm_90"}, {},
       {{kWeightsSection, "",
         pack(SavedWeights{.table = {{.input = "x", .shape = {64, 96}, .bytes = kBytes}}})},
        {kWeightDataSection, "", std::vector<std::byte>(kBytes)}});
  const Device device = test::fake_gpu<90>();
  const Counters before = counters();
  const Executable loaded = load(path, device);
  const Array y = device.empty(f32, {64, 96});
  Context context = loaded.context();
  context.run(device.stream(), {}, {{"y", y}});
  EXPECT_EQ(counters().copies - before.copies, 1);
  EXPECT_EQ(counters().copied_bytes - before.copied_bytes, kBytes);
  EXPECT_EQ(counters().device_bytes - before.device_bytes, 2 * kBytes) << "x and y";
  EXPECT_TRUE(loaded.weight("x").is_read_only()) << "as on the host device";
}

}  // namespace
}  // namespace sinter::load_on_gpu_test
