// Selection of the prelude parts that kernels need. The nvrtc tests compile all kinds of kernels
// and ops, so they would fail if a part were missing.
#include "codegen/prelude/select_prelude.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/prelude/prelude.h"

namespace sinter::select_prelude_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::string prelude_of(std::string_view kernel) { return prelude_for({&kernel, 1}); }

TEST(PreludeParts, ConcatenateToTheWholePrelude) {
  for (const Prelude which : {Prelude::cuda, Prelude::host}) {
    std::string all;
    for (const PreludePart& part : prelude_parts(prelude_text(which))) all += part.text;
    EXPECT_EQ(all, prelude_text(which));
  }
}

// Kernels get the parts that declare the names they use. A part without a name, such as a
// specialisation of a function, would be in no kernel.
TEST(PreludeParts, AllDeclareNamesExceptComments) {
  for (const PreludePart& part : prelude_parts(prelude_text(Prelude::cuda)))
    EXPECT_TRUE(!part.declares.empty() || part.text.find_first_of(";{") == part.text.npos)
        << part.text;
}

TEST(PreludeParts, EndWithDeclarationsAndDeclareNames) {
  const auto parts = prelude_parts(R"(// A macro. { "
#define TWICE(a) ((a) + \
                  (a))
template <class T, int kSize = 4>
struct alignas(kSize) Pair {
  T data[kSize];
  __device__ int sum() { return data[0]; }
};
template <>
struct Pair<int>;
using Pairs = Pair<float>;
#if __CUDA_ARCH__ >= 800
__device__ int twice(int a = 1) {
  asm("{%0" : "=r"(a));
  return TWICE(a);
}
#else
__device__ int twice(Pairs a) { return a.sum(); }
#endif
constexpr int kMost = 4;
)");
  ASSERT_EQ(parts.size(), 7u);  // with the text after the last one
  EXPECT_THAT(parts[0].declares, ElementsAre("TWICE"));
  EXPECT_THAT(parts[1].declares, ElementsAre("Pair"));
  EXPECT_THAT(parts[2].declares, ElementsAre("Pair"));
  EXPECT_THAT(parts[3].declares, ElementsAre("Pairs"));
  EXPECT_THAT(parts[4].declares, ElementsAre("twice"));
  EXPECT_THAT(parts[4].names, IsSupersetOf({"TWICE", "Pairs", "sum"}));
  EXPECT_THAT(parts[5].declares, ElementsAre("kMost"));
  EXPECT_THAT(parts[6].declares, IsEmpty());
}

TEST(PreludeParts, AreSelectedWithTheirDependencies) {
  EXPECT_EQ(prelude_of("extern \"C\" __global__ void nothing() {}"), "");
  const std::string text = prelude_of("float y = digamma(x);  // philox");
  EXPECT_THAT(text, HasSubstr("T digamma_from_zero(T x)"));
  EXPECT_THAT(text, HasSubstr("struct DigammaSeries<float>"));
  EXPECT_THAT(text, HasSubstr("struct DigammaSeries<double>"));
  EXPECT_THAT(text, Not(HasSubstr("struct Philox")));
  EXPECT_LT(text.size(), prelude_text(Prelude::cuda).size() / 10);
}

TEST(PreludeParts, AreAllSelectedForTheHost) {
  const std::string_view kernel = "Philox block(1, 2, 3);";
  const std::string text = prelude_for({&kernel, 1}, Prelude::host);
  const std::string_view alone = prelude_of_one_device(Prelude::host);
  EXPECT_TRUE(prelude_text(Prelude::host).starts_with(alone));
  EXPECT_TRUE(text.starts_with(alone));
  EXPECT_THAT(text.substr(alone.size()), HasSubstr("struct Philox"));
  EXPECT_THAT(text.substr(alone.size()), Not(HasSubstr("struct Welford")));
  EXPECT_LT(text.size(), prelude_text(Prelude::host).size() / 2);
}

TEST(PreludeParts, AreSelectedForAllKernelsOfAProgram) {
  const std::string_view kernels[] = {"Philox block(1, 2, 3);", "Welford<float> state;"};
  const std::string text = prelude_for(kernels);
  EXPECT_THAT(text, HasSubstr("struct Philox"));
  EXPECT_THAT(text, HasSubstr("struct Welford"));
}

}  // namespace
}  // namespace sinter::select_prelude_test
