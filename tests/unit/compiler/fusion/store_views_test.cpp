// Outputs that are reordered views of values: the stored buffers, and the buffers that readers use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::store_views_test {
namespace {

Program planned(const std::string& text) {
  return plan(parse(text), *find_target("h200"), {.symbols = {}}, {});
}

/// The names of the temporary buffers with at least `elements` elements.
std::vector<std::string> temporaries(const Program& program, std::int64_t elements) {
  std::vector<std::string> result;
  for (const Buffer& buffer : program.buffers)
    if (buffer.kind == Buffer::Kind::temporary && elements_of(buffer, {}) >= elements)
      result.push_back(program.name_of(buffer));
  return result;
}

/// The rows are too long to be transposed in tiles.
TEST(StoredViewsTest, ValueIsASubBufferOfItsView) {
  const Program program = planned(R"(
graph rows(a: bf16[8, 500, 3000], b: bf16[8, 500, 3000], d: bf16[8, 500, 3000]) {
  ab = mul a, b
  x = add ab, d
  p = softmax x {axis = 2}
  v = permute p {axes = [0, 2, 1]}
  c = cast v {to = f32}
  s = sum c {axes = [2]}
  t = max s {axes = [0]}
  return v, t
})");
  EXPECT_THAT(temporaries(program, 8 * 500 * 3000), ::testing::IsEmpty());
  const auto part =
      std::ranges::find_if(program.buffers, [](const Buffer& b) { return b.parent >= 0; });
  ASSERT_NE(part, program.buffers.end());
  EXPECT_EQ(program.buffers[static_cast<std::size_t>(part->parent)].name, "v");
  EXPECT_EQ(part->strides, (std::vector<Extent>{500 * 3000, 1, 500}));
}

/// The kernel after the maximum reads v instead of a and b.
TEST(StoredViewsTest, LaterKernelsReadTheOutput) {
  const Program program = planned(R"(
graph flat(a: f32[3001, 205], b: f32[3001, 205]) {
  c = add a, b
  v = reshape c {shape = [205, 3001]}
  m = max c {axes = [0, 1]}
  y = div c, m
  return v, y
})");
  ASSERT_EQ(program.kernels.size(), 1U);
  const Kernel& last = program.kernels[0].sections.back();
  EXPECT_THAT(last.reads,
              ::testing::Contains(program.buffer_of.lookup(program.graph->data().outputs[0].node)));
}

/// If a value and its view are both outputs, both are stored.
TEST(StoredViewsTest, StoresOutputsOfBothOrders) {
  const Program program = planned(R"(
graph both(a: f32[300, 205]) {
  c = exp a
  v = permute c {axes = [1, 0]}
  return c, v
})");
  ASSERT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(program.kernels[0].stores.size(), 2U);
}

}  // namespace
}  // namespace sinter::store_views_test
