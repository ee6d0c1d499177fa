// Gathers that turn an axis round, and results that are stored through them.
#include "compiler/simplify/rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/body_building/kernel_body.h"
#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::rotation_test {
namespace {

using testing::SizeIs;

/// Of the gather from x: f32[28, 8] along axis 0 by the indices `i`.
std::optional<std::int64_t> turn(const std::string& indices) {
  const Graph graph = parse("graph g(x: f32[28, 8], given: i64[28]) {\n" + indices +
                            "\n  y = take x, i {axis = 0}\n  return y\n}");
  return rotated_by(*graph.data().outputs[0].node);
}

const std::string kPlaces = "  p = iota {extent = 28, start = 0, step = 1, dtype = i64}\n";

TEST(TurnsTest, IndicesThatGoRound) {
  EXPECT_EQ(turn(kPlaces + "  a = add p, 3\n  i = fmod a, 28"), 3);
  EXPECT_EQ(turn(kPlaces + "  a = add p, 53\n  i = remainder a, 28"), 25);
  EXPECT_EQ(turn(kPlaces + "  a = sub p, 25\n  b = add a, 28\n  i = fmod b, 28"), 3);
  EXPECT_EQ(turn(kPlaces + "  i = add p, 0"), 28) << "nothing moves";
}

TEST(TurnsTest, IndicesThatDoNot) {
  EXPECT_EQ(turn("  i = add given, 0"), std::nullopt);
  EXPECT_EQ(turn(kPlaces + "  a = add p, 3\n  i = fmod a, 27"), std::nullopt);
  EXPECT_EQ(turn(kPlaces + "  i = add p, 3"), std::nullopt) << "beyond the end";
  EXPECT_EQ(turn(kPlaces + "  i = sub p, 3"), std::nullopt) << "before the beginning";
  EXPECT_EQ(turn(kPlaces + "  i = sub 27, p"), std::nullopt) << "backwards";
  EXPECT_EQ(turn(kPlaces + "  a = add p, p\n  i = fmod a, 28"), std::nullopt);
  EXPECT_EQ(turn("  i = iota {extent = 27, start = 0, step = 1, dtype = i64}"), std::nullopt);
}

TEST(TurnsTest, LooksAtFewOpsOnly) {
  std::string doubled = kPlaces + "  a0 = sub p, p\n";
  for (int i = 0; i < 60; ++i) {
    const std::string from = "a" + std::to_string(i);
    doubled += "  a" + std::to_string(i + 1) + " = add " + from + ", " + from + "\n";
  }
  EXPECT_EQ(turn(doubled + "  b = add a60, p\n  i = fmod b, 28"), std::nullopt);
}

Program shifted_windows(const std::string& last) {
  return plan(parse(R"(
graph windows(x: bf16[4, 28, 28, 256]) {
  f = cast x {to = f32}
  m = mean f {axes = [3], keep = true}
  d = sub f, m
  h = cast d {to = bf16}
  places = iota {extent = 28, start = 0, step = 1, dtype = i64}
  ahead = add places, 3
  round = fmod ahead, 28
  a = index h, round {axes = [1]}
  b = index a, round {axes = [2]}
)" + last + "}"),
              *find_target("h200"), {}, {});
}

/// A row is stored where its window is, and not read once more from there.
TEST(TurnsTest, RowsAreStoredWhereTheyAreTurnedTo) {
  for (const char* const last : {"  return b\n", R"(  v = reshape b {shape = [4, 4, 7, 4, 7, 256]}
  p = permute v {axes = [0, 1, 3, 2, 4, 5]}
  y = reshape p {shape = [3136, 256]}
  return y
)"}) {
    const Program program = shifted_windows(last);
    ASSERT_THAT(program.kernels, SizeIs(1)) << last;
    ASSERT_THAT(program.kernels[0].sections, SizeIs(0)) << last;
    const Body body = body_of(program, program.kernels[0]);
    EXPECT_EQ(std::ranges::count(body.values, Value::Kind::load, &Value::kind), 1) << last;
    ASSERT_THAT(body.stores, SizeIs(1));
    EXPECT_THAT(body.stores[0].conditions, SizeIs(0));
  }
}

}  // namespace
}  // namespace sinter::rotation_test
