// The prelude's functions that hand data from block to block fence as often as they must, with the
// weakest fence that suffices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "codegen/prelude/prelude.h"
#include "runtime/compile/nvrtc.h"

namespace sinter::test::fences_nvrtc_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kFence = "fence.acq_rel.gpu;";

/// The PTX of a kernel with parameters `unsigned* tickets` and `float* y`.
std::string ptx_of(std::string_view body, const std::string& arch) {
  const std::string text =
      "extern \"C\" __global__ void __launch_bounds__(128) fenced(unsigned* tickets, float* y) "
      "{\n" +
      std::string(body) + "\n}\n";
  const SourcePart part = {"fenced", text};
  return nvrtc().nvrtc->compile(prelude_text(Prelude::cuda), {&part, 1}, arch).ptx;
}

class Fences : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

TEST_P(Fences, OnlyTheLastBlockFencesTwice) {
  const std::string ptx =
      ptx_of("if (last_block(tickets, gridDim.x)) y[threadIdx.x] = 1.0f;", GetParam());
  const std::size_t first = ptx.find(kFence);
  const std::size_t ticket = ptx.find("atom.");
  const std::size_t second = ptx.find(kFence, first + 1);
  const std::size_t reset = ptx.find("st.", ticket);
  ASSERT_NE(reset, ptx.npos) << ptx;
  EXPECT_LT(first, ticket);
  EXPECT_LT(ticket, second);
  EXPECT_LT(second, reset) << "the reset follows the tickets of other blocks";
  EXPECT_EQ(ptx.find(kFence, second + 1), ptx.npos);
  EXPECT_NE(ptx.substr(ticket, second - ticket).find("bra"), std::string::npos)
      << "the other blocks skip the second fence\n"
      << ptx;
}

TEST_P(Fences, NoneIsSequentiallyConsistent) {
  const std::string ptx = ptx_of(R"(
  if (threadIdx.x == 0) publish(tickets + 1, 1u);
  y[threadIdx.x] = static_cast<float>(await_flag(tickets + 2, 1u));
  grid_barrier(tickets);
  if (last_block(tickets + 3, gridDim.x)) y[0] = 0.0f;)",
                                 GetParam());
  EXPECT_THAT(ptx, AllOf(HasSubstr(std::string(kFence)), Not(HasSubstr("membar")),
                         Not(HasSubstr("fence.sc"))));
}

INSTANTIATE_TEST_SUITE_P(Architectures, Fences, testing::Values("sm_75", "sm_90", "sm_120"));

}  // namespace
}  // namespace sinter::test::fences_nvrtc_test
