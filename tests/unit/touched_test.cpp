// How many elements loads touch, where conditions and divisions meet.
#include "compiler/touched.h"

#include <gtest/gtest.h>

#include "compiler/kernel_body.h"
#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter {
namespace {

/// Elements that the one kernel of `text` loads, summed over its loads; -1 where one is a bound.
std::int64_t loaded(const char* text) {
  const Program program = plan(parse(text), *find_target("h200"), {}, {});
  const Body body = body_of(program, program.kernels.at(0));
  std::int64_t result = 0;
  for (const Value& value : body.values) {
    if (value.kind != Value::Kind::load) continue;
    const Touched touched = touched_elements(body, value);
    if (!touched.is_exact) return -1;
    result += evaluate(touched.elements, {});
  }
  return result;
}

TEST(TouchedTest, ShuffledChannelsAreReadOnceByBothHalves) {
  EXPECT_EQ(loaded(R"(
graph shuffle(a: f32[8, 6, 5], b: f32[8, 6, 5]) {
  n = neg b
  both = concat a, n {axis = 1}
  pairs = reshape both {shape = [8, 2, 6, 5]}
  turned = permute pairs {axes = [0, 2, 1, 3]}
  all = reshape turned {shape = [8, 12, 5]}
  first = slice all {axis = 1, begin = 0, end = 6}
  second = slice all {axis = 1, begin = 6, end = 12}
  return first, second
})"),
            8 * 12 * 5);
}

TEST(TouchedTest, ARepeatedPieceIsTouchedOnce) {
  EXPECT_EQ(loaded(R"(
graph repeated(a: f32[8, 4], b: f32[8, 4]) {
  wide = reshape a {shape = [8, 4, 1]}
  twice = broadcast_to wide {shape = [8, 4, 2]}
  flat = reshape twice {shape = [8, 8]}
  y = concat flat, b {axis = 1}
  return y
})"),
            8 * 4 + 8 * 4);
}

}  // namespace
}  // namespace sinter
