// output_views: outputs that are views of other outputs.
#include "ir/graph/output_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/text.h"

namespace sinter::output_view_test {
namespace {

using testing::ElementsAre;

std::vector<std::optional<OutputView>> views(std::string_view text) {
  return output_views(parse(text).data());
}

TEST(OutputViewsTest, PermutationOfARearrangedValueIsAView) {
  const auto found = views(R"(
graph rearranged(x: f32[4, 6, 2]) {
  e = exp x
  p = permute e {axes = [0, 2, 1]}
  a = reshape p {shape = [8, 6]}
  q = permute p {axes = [2, 0, 1]}
  b = reshape q {shape = [6, 8]}
  return a, b
})");
  EXPECT_FALSE(found[0]);
  ASSERT_TRUE(found[1]);
  EXPECT_FALSE(found[1]->is_of_input);
  EXPECT_EQ(found[1]->base, 0);
  EXPECT_THAT(found[1]->strides, ElementsAre(Extent(1), Extent(6)));
}

TEST(OutputViewsTest, IncompatibleReshapesAreNotViews) {
  const auto found = views(R"(
graph torn(x: f32[4, 6]) {
  e = exp x
  t = permute e {axes = [1, 0]}
  a = reshape t {shape = [24]}
  b = reshape e {shape = [24]}
  return a, b
})");
  EXPECT_FALSE(found[0]);
  EXPECT_FALSE(found[1]);
}

TEST(OutputViewsTest, SliceOfAReshapedValueIsAView) {
  const auto found = views(R"(
graph segment(x: f32[4, 6]) {
  e = exp x
  a = reshape e {shape = [24]}
  b = slice e {axis = 0, begin = 1, end = 3}
  return a, b
})");
  EXPECT_FALSE(found[0]);
  ASSERT_TRUE(found[1]);
  EXPECT_EQ(found[1]->offset, Extent(6));
  EXPECT_THAT(found[1]->strides, ElementsAre(Extent(6), Extent(1)));
}

}  // namespace
}  // namespace sinter::output_view_test
