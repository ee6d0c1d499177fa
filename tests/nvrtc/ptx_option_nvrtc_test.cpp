// Options::ptx decides whether the driver gets PTX or machine code, and whether kernels may start
// early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "runtime/compile/nvrtc.h"
#include "runtime/execution/executable_state.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/fake_gpu.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::ptx_option_nvrtc_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kElf =
    "\x7f"
    "ELF";

class PtxOption : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
    test::loaded_images().clear();
  }
  /// Compiles another kernel with each call, so that no kernel is in the cache.
  Executable compiled(bool ptx) const {
    static int number = 0;
    return compile(parse(fmt::format(
                       "graph e(x: f32[4096]) {{\n  y = mul x, {}.75\n  return y\n}}\n", ++number)),
                   gpu, {.tune = Tune::off, .ptx = ptx});
  }
  static bool starts_early(const Executable& executable) {
    return executable.state()->variants().at(0)->kernels.at(0).starts_early;
  }

  const Device gpu = test::fake_gpu<90, 232448>();
};

TEST_F(PtxOption, OnHandsPtxToTheDriver) {
  const Executable executable = compiled(true);
  EXPECT_THAT(test::loaded_images(),
              ElementsAre(AllOf(HasSubstr(".target sm_90"), HasSubstr(".entry "))));
  EXPECT_EQ(executable.report().kernels.at(0).cubin.arch, "compute_90");
  EXPECT_FALSE(starts_early(executable)) << "nobody has seen the machine code";
}

TEST_F(PtxOption, OffHandsMachineCodeToTheDriver) {
  const Executable executable = compiled(false);
  EXPECT_THAT(test::loaded_images(), ElementsAre(StartsWith(kElf)));
  EXPECT_EQ(executable.report().kernels.at(0).cubin.arch, "sm_90");
  EXPECT_TRUE(starts_early(executable));
}

/// The images of a saved file are of the kind that the option asks for.
TEST_F(PtxOption, DecidesTheImagesOfSavedFiles) {
  const test::ScratchFolder folder;
  for (const bool ptx : {false, true}) {
    const std::string path = folder.path() + (ptx ? "/ptx" : "/code");
    compiled(ptx).save(path);
    std::ifstream stream(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_THAT(bytes, ptx ? testing::Matcher<std::string>(HasSubstr(".target sm_90"))
                           : testing::Matcher<std::string>(Not(HasSubstr(".target sm_90"))));
    EXPECT_EQ(bytes.find(kElf) == std::string::npos, ptx);
  }
}

/// Machine code of sm_80 does not run on sm_90, but PTX does.
TEST_F(PtxOption, SavedPtxLoadsOnLaterGpus) {
  const test::ScratchFolder folder;
  const std::string path = folder.path() + "/e.sinterx";
  compiled(true).save(path, {.archs = {"sm_80"}});
  test::loaded_images().clear();
  const Executable loaded = load(path, gpu);
  EXPECT_THAT(test::loaded_images(), ElementsAre(HasSubstr(".target sm_80")));
  EXPECT_FALSE(starts_early(loaded));
}

}  // namespace
}  // namespace sinter::ptx_option_nvrtc_test
