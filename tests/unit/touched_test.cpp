// How many elements a load touches, against walking all places.
#include "compiler/touched.h"

#include "ir/node.h"
#include "sinter/text.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace sinter {
namespace {

/// Rows of `extents`, and a load from an array of 10,000 elements.
struct Load {
  explicit Load(std::vector<std::int64_t> row_extents) : extents(std::move(row_extents)) {
    for (const std::int64_t extent : extents) body.space.add_axis(extent);
    body.parallel_axes = body.space.axis_count();
  }
  IndexSpace& space() { return body.space; }

  std::int64_t touched(const Index& at) const {
    const Value value{
        .kind = Value::Kind::load, .node = graph.data().inputs.front().node, .at = at};
    return touched_elements(body, value).elements.number();
  }

  std::int64_t distinct(const Index& at) const {
    std::set<std::int64_t> seen;
    std::vector<std::int64_t> place(extents.size(), 0);
    const std::int64_t places = evaluate(body.parallel_size(), {});
    for (std::int64_t i = 0; i < places; ++i) {
      std::int64_t rest = i;
      for (std::size_t axis = place.size(); axis-- > 0; rest /= extents[axis])
        place[axis] = rest % extents[axis];
      seen.insert(evaluate(at, place, {}));
    }
    return static_cast<std::int64_t>(seen.size());
  }

  std::vector<std::int64_t> extents;
  Graph graph = parse("graph g(x: f32[10000]) {\n  y = exp x\n  return y\n}");
  Body body;
};

TEST(Touched, HalvesOfARowThatRepeatOverAllRowsCountOnce) {
  Load load({3, 88});
  IndexSpace& space = load.space();
  const Index half = space.divide(space.axis(1), 44);
  const Index row = space.modulo(space.add(space.scale(space.axis(0), 2), half), 3);
  const Index at =
      space.add(space.scale(row, 130), space.scale(space.modulo(space.axis(1), 44), 3));
  EXPECT_EQ(load.touched(at), 3 * 44);
  EXPECT_EQ(load.distinct(at), 3 * 44);
}

TEST(Touched, QuotientAndRemainderOfAnAxisAreAllOfIt) {
  Load load({5, 24});
  IndexSpace& space = load.space();
  const Index high = space.divide(space.axis(1), 6);
  const Index low = space.modulo(space.axis(1), 6);
  const Index turned = space.add(space.scale(low, 4), high);
  EXPECT_EQ(load.touched(turned), 24);
  const Index apart = space.add(space.scale(high, 100), space.modulo(low, 2));
  EXPECT_EQ(load.touched(apart), load.distinct(apart));
}

TEST(Touched, DividedByOtherNumbersAnAxisCountsAsAWhole) {
  Load load({25});
  IndexSpace& space = load.space();
  const Index at =
      space.add(space.scale(space.divide(space.axis(0), 6), 10), space.modulo(space.axis(0), 6));
  EXPECT_EQ(load.touched(at), 25);
  EXPECT_EQ(load.distinct(at), 25);
}

}  // namespace
}  // namespace sinter
