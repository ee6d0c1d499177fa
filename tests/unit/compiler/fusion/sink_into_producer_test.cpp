// Concats and pads that are moved into the kernel that computes their operands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "compiler/body_building/build_body.h"
#include "tests/support/graphs/planned.h"

namespace sinter::sink_into_producer_test {
namespace {

using test::planned;
using testing::SizeIs;

Traffic traffic_of(const Program& program, std::size_t kernel) {
  const Kernel& own = program.kernels.at(kernel);
  return emit(program, own, own.schedule, "kernel").traffic;
}

constexpr const char* kPaddedRows = R"(
graph padded(x: bf16[4096, 30522]) {
  f = cast x {to = f32}
  s = sum f {axes = [1], keep = true}
  d = sub f, s
  c = sum d {axes = [0]}
  y = cast d {to = bf16}
  p = pad y {low = [0, 0], high = [0, 6], value = 0}
  return p, c
})";

TEST(SinkIntoProducerTest, RowKernelStoresRowsAndPadding) {
  const Program program = planned(kPaddedRows);
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Body body = body_of(program, program.kernels[0]);
  ASSERT_THAT(body.stores, SizeIs(3));
  EXPECT_TRUE(body.stores[1].conditions.empty());
  EXPECT_EQ(body.stores[1].elements, Extent(4096 * 30522));
  EXPECT_THAT(body.stores[2].conditions, SizeIs(1));
  EXPECT_EQ(body.stores[2].elements, Extent(4096 * 6));
  EXPECT_EQ(body.stores[2].request, body.stores[1].request) << "one array";
  const std::int64_t written = evaluate(traffic_of(program, 0).bytes_written, {});
  EXPECT_GE(written, 4096 * 30528 * 2);
}

TEST(SinkIntoProducerTest, PaddingMayPrecedeTheRows) {
  const Program program = planned(R"(
graph padded(x: f32[4096, 100]) {
  s = sum x {axes = [1], keep = true}
  y = sub x, s
  p = pad y {low = [3, 0], high = [2, 0], value = 1.5}
  return p
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_EQ(program.kernels[0].kind, KernelKind::row_reduce);
  EXPECT_EQ(evaluate(traffic_of(program, 0).bytes_written, {}), 4101 * 100 * 4);
}

TEST(SinkIntoProducerTest, PaddingLargerThanTheRowsIsASeparateKernel) {
  const Program program = planned(R"(
graph padded(x: f32[40960, 100]) {
  s = sum x {axes = [1], keep = true}
  y = sub x, s
  p = pad y {low = [0, 0], high = [0, 101], value = 0}
  return p
})");
  for (const Boundary& boundary : program.boundaries)
    EXPECT_NE(boundary.reason.find("elements, the kernel has"), std::string::npos)
        << boundary.reason;
  EXPECT_FALSE(program.boundaries.empty());
}

TEST(SinkIntoProducerTest, AnotherKernelReadsThePaddedResult) {
  // The second kernel transposes the padded result of the first one.
  const Program program = planned(R"(
graph padded(x: f32[2048, 20005], e: f32[2048, 20005]) {
  s = sum x {axes = [1], keep = true}
  m = mul e, s
  d = sub x, m
  y = cast d {to = bf16}
  p = pad y {low = [0, 0], high = [0, 3], value = 0}
  t = permute y {axes = [1, 0]}
  q = pad t {low = [0, 0], high = [3, 0], value = 0}
  f = cast y {to = f32}
  c = sum f {axes = [0]}
  return p, q, c
})");
  ASSERT_THAT(program.kernels, SizeIs(2));
  constexpr std::int64_t kPadded = 2048 * 20008 * 2;
  EXPECT_EQ(evaluate(traffic_of(program, 1).bytes_read, {}), kPadded);
  EXPECT_EQ(evaluate(traffic_of(program, 1).bytes_written, {}), kPadded);
}

}  // namespace
}  // namespace sinter::sink_into_producer_test
