// Cache hints: which loads are streaming or retained, and which candidates use the hints.
#include "compiler/candidates/cache_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::cache_hints_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Emitted {
  std::vector<Schedule> candidates;
  std::string first;   ///< the text of the default candidate
  std::string second;  ///< the text of the next candidate
};

Emitted emitted(const std::string& text, std::vector<std::int64_t> symbols = {}) {
  const Program program =
      plan(parse(text), *find_target("h200"), {.symbols = std::move(symbols)}, {});
  const Kernel& kernel = program.kernels.at(0);
  const std::vector<Schedule>& list = kernel.candidates.list();
  return {.candidates = list,
          .first = emit(program, kernel, list.at(0), "k").text,
          .second = emit(program, kernel, list.at(1), "k").text};
}

constexpr const char* kBiasAdd = R"(
graph add(x: f32[rows, 4096], bias: f32[4096]) {
  y = add x, bias
  return y
})";

TEST(CacheHints, AreTheSecondCandidate) {
  const Emitted large = emitted(kBiasAdd, {16384});
  Schedule hinted = large.candidates[0];
  EXPECT_FALSE(hinted.has_hints);
  hinted.has_hints = true;
  EXPECT_EQ(large.candidates[1], hinted);
  EXPECT_LE(large.candidates.size(), 12U);
  EXPECT_THAT(large.first, Not(HasSubstr("load_streaming")));
  EXPECT_THAT(large.second, HasSubstr("= load_streaming<4>(x_in"));
  EXPECT_THAT(large.second, HasSubstr(", cache hints"));
  // All rows read the bias, so it is not streamed.
  EXPECT_THAT(large.second, HasSubstr("= load<4>(bias_in"));
}

TEST(CacheHints, AreAbsentIfTheDataFitsInTheCache) {
  for (const Schedule& schedule : emitted(kBiasAdd, {64}).candidates)
    EXPECT_FALSE(schedule.has_hints);
}

TEST(CacheHints, EarlierPassesRetainTheirLoads) {
  const std::string softmax = R"(
graph long_rows(x: f32[4096, columns]) {
  y = softmax x {axis = 1}
  return y
})";
  const std::string text = emitted(softmax, {1 << 20}).second;
  const std::size_t first = text.find("load_retained<4>(x_in");
  ASSERT_NE(first, text.npos) << text;
  const std::size_t second = text.find("load_retained<4>(x_in", first + 1);
  ASSERT_NE(second, text.npos) << text;
  EXPECT_LT(second, text.find("load_streaming<4>(x_in")) << text;
}

TEST(CacheHints, ResidentRowsAreStreamed) {
  const std::string softmax = R"(
graph rows(x: f32[65536, 1024]) {
  y = softmax x {axis = 1}
  return y
})";
  const std::string text = emitted(softmax).second;
  EXPECT_THAT(text, HasSubstr("load_streaming<4>(x_in"));
  EXPECT_THAT(text, Not(HasSubstr("load_retained")));
}

TEST(CacheHints, WrittenArraysHaveNoHints) {
  const std::string text = emitted(R"(
graph step(p: f32[16384, 4096], g: f32[16384, 4096]) {
  q = sub p, g
  update p, q
})")
                               .second;
  EXPECT_THAT(text, HasSubstr("load_streaming<4>(g_in"));
  EXPECT_THAT(text, Not(HasSubstr("load_streaming<4>(p_io")));
}

TEST(CacheHints, OverlappingLoadsAreNotStreamed) {
  const std::string text = emitted(R"(
graph differences(x: f32[16384, 4096]) {
  a = slice x {axis = 0, begin = 1, end = 16384, step = 1}
  b = slice x {axis = 0, begin = 0, end = 16383, step = 1}
  y = sub a, b
  return y
})")
                               .second;
  EXPECT_THAT(text, Not(HasSubstr("load_streaming")));
}

}  // namespace
}  // namespace sinter::cache_hints_test
