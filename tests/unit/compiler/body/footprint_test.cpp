// The number of elements that a load touches, compared with an enumeration of the iteration space.
#include "compiler/body/footprint.h"

#include "compiler/body_building/build_body.h"
#include "compiler/plan.h"
#include "ir/graph/node.h"
#include "sinter/text.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::footprint_test {
namespace {

/// An iteration space of `extents` and a load from an array of 10,000 elements.
struct Load {
  explicit Load(std::vector<std::int64_t> row_extents) : extents(std::move(row_extents)) {
    for (const std::int64_t extent : extents) body.space.add_axis(extent);
    body.parallel_axes = body.space.axis_count();
  }
  IndexSpace& space() { return body.space; }

  std::int64_t touched(const Index& at) const {
    const Value value{
        .kind = Value::Kind::load, .node = graph.data().inputs.front().node, .at = at};
    return footprint_of(body, value).elements.number();
  }

  std::int64_t distinct(const Index& at) const {
    std::set<std::int64_t> seen;
    std::vector<std::int64_t> position(extents.size(), 0);
    const std::int64_t positions = evaluate(body.parallel_size(), {});
    for (std::int64_t i = 0; i < positions; ++i) {
      std::int64_t rest = i;
      for (std::size_t axis = position.size(); axis-- > 0; rest /= extents[axis])
        position[axis] = rest % extents[axis];
      seen.insert(evaluate(at, position, {}));
    }
    return static_cast<std::int64_t>(seen.size());
  }

  std::vector<std::int64_t> extents;
  Graph graph = parse("graph g(x: f32[10000]) {\n  y = exp x\n  return y\n}");
  Body body;
};

TEST(Footprint, RepeatedRowsCountOnce) {
  Load load({3, 88});
  IndexSpace& space = load.space();
  const Index half = space.divide(space.axis(1), 44);
  const Index row = space.modulo(space.add(space.scale(space.axis(0), 2), half), 3);
  const Index at =
      space.add(space.scale(row, 130), space.scale(space.modulo(space.axis(1), 44), 3));
  EXPECT_EQ(load.touched(at), 3 * 44);
  EXPECT_EQ(load.distinct(at), 3 * 44);
}

TEST(Footprint, QuotientAndRemainderCoverTheAxis) {
  Load load({5, 24});
  IndexSpace& space = load.space();
  const Index high = space.divide(space.axis(1), 6);
  const Index low = space.modulo(space.axis(1), 6);
  const Index transposed = space.add(space.scale(low, 4), high);
  EXPECT_EQ(load.touched(transposed), 24);
  const Index strided = space.add(space.scale(high, 100), space.modulo(low, 2));
  EXPECT_EQ(load.touched(strided), load.distinct(strided));
}

TEST(Footprint, InexactDivisionCountsTheWholeAxis) {
  Load load({25});
  IndexSpace& space = load.space();
  const Index at =
      space.add(space.scale(space.divide(space.axis(0), 6), 10), space.modulo(space.axis(0), 6));
  EXPECT_EQ(load.touched(at), 25);
  EXPECT_EQ(load.distinct(at), 25);
}

/// The elements that the single kernel of `text` loads, summed over its loads. -1 if a footprint is
/// not exact.
std::int64_t loaded(const char* text) {
  const Program program = plan(parse(text), *find_target("h200"), {}, {});
  const Body body = body_of(program, program.kernels.at(0));
  std::int64_t result = 0;
  for (const Value& value : body.values) {
    if (value.kind != Value::Kind::load) continue;
    const Footprint touched = footprint_of(body, value);
    if (!touched.is_exact) return -1;
    result += evaluate(touched.elements, {});
  }
  return result;
}

TEST(Footprint, HalvesOfShuffledChannelsReadEachElementOnce) {
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

TEST(Footprint, RepeatedElementsCountOnce) {
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
}  // namespace sinter::footprint_test
