// NVRTC compiles without a GPU, and the resource use of its cubins is read back.
#include "runtime/compile/nvrtc.h"

#include "codegen/prelude/prelude.h"
#include "sinter/error.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::nvrtc_test {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
  NvrtcOutput compile(std::initializer_list<SourcePart> kernels,
                      const std::string& architecture = "sm_90") {
    return nvrtc().nvrtc->compile("", kernels, architecture);
  }
  template <class Error>
  std::string message_of(std::initializer_list<SourcePart> kernels,
                         const std::string& architecture = "sm_90") {
    try {
      compile(kernels, architecture);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
};

constexpr SourcePart kScale = {"scale", R"(
extern "C" __global__ void __launch_bounds__(256) scale(const float* x, float* y, int size) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < size) y[i] = x[i] * 3.0f + 1.0f;
})"};

// More live values than the registers of a thread in a block of 1024 threads.
constexpr SourcePart kSpill = {"spill", R"(
extern "C" __global__ void __launch_bounds__(1024) spill(const float* x, float* y, int n) {
  __shared__ float first[100];
  float a[80];
  for (int i = 0; i < 80; ++i) a[i] = x[i * n + threadIdx.x];
  first[threadIdx.x % 100] = a[3];
  __syncthreads();
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 80; ++i) a[i] = a[i] * a[(i + 1) % 80] + first[5];
  for (int i = 0; i < 80; ++i) y[i * n + threadIdx.x] = a[i];
})"};

TEST_F(NvrtcTest, CompilesACubinAndReadsItsResources) {
  const NvrtcOutput output = compile({kSpill, kScale});
  EXPECT_GT(output.cubin.size(), 1000u);
  EXPECT_THAT(output.ptx, HasSubstr(".entry scale"));
  EXPECT_GT(output.milliseconds, 0);
  ASSERT_EQ(output.kernels.size(), 2u);

  const CubinReport& scale = output.kernels.at("scale");
  EXPECT_THAT(scale.registers, AllOf(Gt(3), ::testing::Lt(32)));
  EXPECT_EQ(scale.spill_bytes, 0);
  EXPECT_THAT(scale.instructions, AllOf(Gt(8), ::testing::Lt(100)));

  const CubinReport& spill = output.kernels.at("spill");
  EXPECT_EQ(spill.registers, 64);  // 65536 registers / 1024 threads
  EXPECT_GT(spill.spill_bytes, 0);
}

TEST_F(NvrtcTest, NeverContractsAMultiplyAndAnAdd) {
  EXPECT_THAT(compile({kScale}).ptx, AllOf(HasSubstr("mul.rn.f32"), Not(HasSubstr("fma.rn.f32"))));
}

TEST_F(NvrtcTest, CompilesTheWholePreludeForEveryArchitecture) {
  for (const int architecture : nvrtc().nvrtc->architectures()) {
    const std::string name = "sm_" + std::to_string(architecture);
    const std::vector<SourcePart> kernels = {kScale};
    EXPECT_EQ(nvrtc().nvrtc->compile(prelude_text(Prelude::cuda), kernels, name).kernels.size(), 1u)
        << name;
  }
}

TEST_F(NvrtcTest, CompilesOnlyPtxForVirtualArchitectures) {
  const NvrtcOutput output = compile({kScale}, "compute_90");
  EXPECT_TRUE(output.cubin.empty());
  EXPECT_TRUE(output.kernels.empty());
  EXPECT_THAT(output.ptx, HasSubstr(".target sm_90"));
}

TEST_F(NvrtcTest, ShowsNumberedSourceLinesOfErrors) {
  const SourcePart bad = {"bad", R"(extern "C" __global__ void bad(float* x) {
  const float sum = x[0] + bb[0];
  x[0] = sum;
})"};
  const std::string message = message_of<CompileError>({kScale, bad});
  EXPECT_THAT(message, StartsWith("nvrtc: sinter could not compile its own kernel bad for sm_90 "
                                  "(this is a bug in sinter, please report it)\n"));
  EXPECT_THAT(message, HasSubstr("in bad:\n"
                                 "   1 | extern \"C\" __global__ void bad(float* x) {\n"
                                 "   2 |   const float sum = x[0] + bb[0];\n"
                                 "   3 |   x[0] = sum;\n"
                                 "error: identifier \"bb\" is undefined (line 2)\n"));
  EXPECT_THAT(message, HasSubstr("nvrtc " + std::to_string(nvrtc().nvrtc->version() / 1000)));
}

TEST_F(NvrtcTest, ListsSupportedArchitecturesInErrors) {
  EXPECT_THAT(message_of<UserError>({kScale}, "sm_12"),
              AllOf(StartsWith("architecture sm_12: nvrtc "), HasSubstr("compiles for sm_"),
                    HasSubstr("sm_90")));
  EXPECT_THAT(message_of<UserError>({kScale}, "volta"), StartsWith("architecture volta: "));
}

TEST_F(NvrtcTest, CompilesInSeveralThreads) {
  std::vector<std::byte> images[3];
  {
    std::vector<std::jthread> threads;
    for (auto& image : images)
      threads.emplace_back([&] {
        image = nvrtc().nvrtc->compile("", {&kScale, 1}, "sm_90").cubin;
      });
  }
  EXPECT_FALSE(images[0].empty());
  EXPECT_EQ(images[0], images[1]);
  EXPECT_EQ(images[0], images[2]);
}

TEST(OpenNvrtc, ReportsWhyALibraryCannotBeOpened) {
  const NvrtcOrReason opened = open_nvrtc("libnvrtc-that-is-not-there.so");
  EXPECT_EQ(opened.nvrtc, nullptr);
  EXPECT_THAT(opened.reason,
              StartsWith("NVRTC libnvrtc-that-is-not-there.so cannot be opened (libnvrtc-that"));
}

TEST(OpenNvrtc, RejectsLibrariesThatAreNotNvrtc) {
  const NvrtcOrReason opened = open_nvrtc("libc.so.6");
  EXPECT_EQ(opened.nvrtc, nullptr);
  EXPECT_EQ(opened.reason, "NVRTC libc.so.6 does not report its version");
}

}  // namespace
}  // namespace sinter::nvrtc_test
