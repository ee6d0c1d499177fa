// Gathers that rotate an axis, and results that are stored at rotated positions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/body_building/build_body.h"
#include "compiler/body_building/store_mapping.h"
#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::rotation_test {
namespace {

using testing::SizeIs;

/// The shift of a gather from x: f32[28, 8] along axis 0 with the indices `i`.
std::optional<std::int64_t> shift_of(const std::string& indices) {
  const Graph graph = parse("graph g(x: f32[28, 8], given: i64[28]) {\n" + indices +
                            "\n  y = take x, i {axis = 0}\n  return y\n}");
  return rotated_by(*graph.data().outputs[0].node);
}

const std::string kIota = "  p = iota {extent = 28, start = 0, step = 1, dtype = i64}\n";

TEST(RotationTest, DetectsRotations) {
  EXPECT_EQ(shift_of(kIota + "  a = add p, 3\n  i = fmod a, 28"), 3);
  EXPECT_EQ(shift_of(kIota + "  a = add p, 53\n  i = remainder a, 28"), 25);
  EXPECT_EQ(shift_of(kIota + "  a = sub p, 25\n  b = add a, 28\n  i = fmod b, 28"), 3);
  EXPECT_EQ(shift_of(kIota + "  i = add p, 0"), 28) << "nothing moves";
}

TEST(RotationTest, RejectsOtherIndices) {
  EXPECT_EQ(shift_of("  i = add given, 0"), std::nullopt);
  EXPECT_EQ(shift_of(kIota + "  a = add p, 3\n  i = fmod a, 27"), std::nullopt);
  EXPECT_EQ(shift_of(kIota + "  i = add p, 3"), std::nullopt) << "beyond the end";
  EXPECT_EQ(shift_of(kIota + "  i = sub p, 3"), std::nullopt) << "before the beginning";
  EXPECT_EQ(shift_of(kIota + "  i = sub 27, p"), std::nullopt) << "backwards";
  EXPECT_EQ(shift_of(kIota + "  a = add p, p\n  i = fmod a, 28"), std::nullopt);
  EXPECT_EQ(
      shift_of("  i = iota {extent = 28, start = 5, step = 9223372036854775807, dtype = i64}"),
      std::nullopt)
      << "beyond 64 bits";
  EXPECT_EQ(shift_of("  i = iota {extent = 27, start = 0, step = 1, dtype = i64}"), std::nullopt);
}

TEST(RotationTest, LimitsTheNumberOfVisitedOps) {
  std::string doubled = kIota + "  a0 = sub p, p\n";
  for (int i = 0; i < 60; ++i) {
    const std::string from = "a" + std::to_string(i);
    doubled += "  a" + std::to_string(i + 1) + " = add " + from + ", " + from + "\n";
  }
  EXPECT_EQ(shift_of(doubled + "  b = add a60, p\n  i = fmod b, 28"), std::nullopt);
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

/// A row is stored at its position in the shifted window, without another load.
TEST(RotationTest, StoresRowsAtRotatedPositions) {
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
