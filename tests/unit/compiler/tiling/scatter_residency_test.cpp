// Scatter kernels with resident rows: consumers of the scattered rows run before the rows leave the
// SM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "tests/support/graphs/planned.h"

namespace sinter::scatter_residency_test {
namespace {

using test::planned;

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Source emitted(const Program& program) {
  const Kernel& kernel = program.kernels.at(0);
  return emit(program, kernel, kernel.schedule, "kernel");
}

TEST(ScatterKernelsTest, StoresOnlyTheFusedResult) {
  const Program program = planned(R"(
graph embedding_backward(table: bf16[30000, 128], dy: bf16[4096, 128], rows: i64[4096]) {
  g = cast dy {to = f32}
  zero = full {shape = [30000, 128], value = 0, dtype = f32}
  sums = index_put zero, g, rows {axes = [0], accumulate = true}
  decayed = mul table, 0.5
  d = cast decayed {to = f32}
  total = add sums, d
  y = cast total {to = bf16}
  return y
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, IsEmpty());
  const Source source = emitted(program);
  EXPECT_FALSE(source.traffic.writes_are_bound);
  EXPECT_EQ(evaluate(source.traffic.bytes_written, {}), 30000 * 128 * 2);
  // The indices are read twice: to find the rows, and to add to them.
  EXPECT_EQ(evaluate(source.traffic.bytes_read, {}), (30000 + 4096) * 128 * 2 + 2 * 4096 * 8);
  EXPECT_LE(source.shared_bytes, 48 * 1024);
}

TEST(ScatterKernelsTest, FusedResultMayHaveAnotherOrder) {
  const Program program = planned(R"(
graph upsample_backward(dy: f32[4096, 64], places: i64[4096], x: bf16[64, 40, 25]) {
  zero = full {shape = [1000, 64], value = 0, dtype = f32}
  sums = index_put zero, dy, places {axes = [0], accumulate = true}
  image = reshape sums {shape = [40, 25, 64]}
  planes = permute image {axes = [2, 0, 1]}
  narrow = cast planes {to = bf16}
  y = mul narrow, x
  return y
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, IsEmpty());
  EXPECT_EQ(evaluate(emitted(program).traffic.bytes_written, {}), 64 * 1000 * 2);
}

/// The gradient of an unfold of padded rows. The padding is not part of the result.
TEST(ScatterKernelsTest, StoresASliceOfTheRows) {
  const Program program = planned(R"(
graph fold(dy: f32[4608, 384], places: i64[4608]) {
  zero = full {shape = [520, 384], value = 0, dtype = f32}
  sums = index_put zero, dy, places {axes = [0], accumulate = true}
  inside = slice sums {axis = 0, begin = 4, end = 516}
  y = cast inside {to = bf16}
  return y
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, IsEmpty());
  EXPECT_EQ(evaluate(emitted(program).traffic.bytes_written, {}), 512 * 384 * 2);
}

TEST(ScatterKernelsTest, ManyLongRowsWithManyIndicesAreNotResident) {
  const Program program = planned(R"(
graph vocabulary(dy: f32[16384, 1024], rows: i64[16384]) {
  zero = full {shape = [50000, 1024], value = 0, dtype = f32}
  sums = index_put zero, dy, rows {axes = [0], accumulate = true}
  y = cast sums {to = bf16}
  return y
})");
  ASSERT_THAT(program.boundaries, Not(IsEmpty()));
  EXPECT_THAT(program.boundaries[0].reason, HasSubstr("reading the indices in each of them"));
}

/// The result has the dtype of the sums, so its buffer can hold them until all indices are
/// processed.
TEST(ScatterKernelsTest, NonResidentRowsAreSummedInTheResult) {
  const Program program = planned(R"(
graph vocabulary(head: bf16[50000, 1024], dy: f32[16384, 1024], rows: i64[16384]) {
  zero = full {shape = [50000, 1024], value = 0, dtype = f32}
  sums = index_put zero, dy, rows {axes = [0], accumulate = true}
  wide = cast head {to = f32}
  y = add wide, sums
  return y
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, IsEmpty());
  EXPECT_FALSE(program.kernels[0].schedule.resident);
  const Source source = emitted(program);
  EXPECT_TRUE(source.traffic.writes_are_bound);
  constexpr std::int64_t kAll = 50000 * 1024, kIndexed = 16384 * 1024;
  // Indexed rows are written twice: as sums and as results.
  EXPECT_EQ(evaluate(source.traffic.bytes_written, {}), kAll * 4 + 2 * kIndexed * 4);
  EXPECT_EQ(evaluate(source.traffic.bytes_read, {}),
            (kAll + kIndexed) * 2 + 2 * kIndexed * 4 + 2 * 16384 * 8);
  EXPECT_LE(source.shared_bytes, 48 * 1024);
}

/// The result would be computed after the sums, but the sums would overwrite its operand.
TEST(ScatterKernelsTest, NonResidentRowsAreNotSummedOverAnOperand) {
  const Program program = planned(R"(
graph step(table: f32[50000, 1024], dy: f32[16384, 1024], rows: i64[16384]) {
  zero = full {shape = [50000, 1024], value = 0, dtype = f32}
  sums = index_put zero, dy, rows {axes = [0], accumulate = true}
  decay = mul table, 0.5
  new = add decay, sums
  update table, new
})");
  ASSERT_THAT(program.boundaries, Not(IsEmpty()));
  EXPECT_THAT(program.boundaries[0].reason, HasSubstr("reading the indices in each of them"));
}

TEST(ScatterKernelsTest, RowsUpdatedInPlaceAreNotResident) {
  const Program program = planned(R"(
graph update_rows(table: f32[30000, 128], dy: f32[64, 128], rows: i64[64]) {
  sums = index_put table, dy, rows {axes = [0], accumulate = true}
  update table, sums
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_FALSE(program.kernels[0].schedule.resident);
  EXPECT_THAT(emitted(program).text, Not(HasSubstr("owned[")));
}

TEST(ScatterKernelsTest, RowsTooLongToBeResidentUseAnotherKernel) {
  const Program program = planned(R"(
graph long_rows(dy: f32[64, 16384], rows: i64[64]) {
  zero = full {shape = [100, 16384], value = 0, dtype = f32}
  sums = index_put zero, dy, rows {axes = [0], accumulate = true}
  y = exp sums
  z = cast y {to = bf16}
  return z
})");
  ASSERT_THAT(program.boundaries, Not(IsEmpty()));
  EXPECT_THAT(program.boundaries[0].reason, HasSubstr("65536 bytes, is too long to keep"));
}

TEST(ScatterKernelsTest, ReductionsOverRowsAreSeparateKernels) {
  const Program program = planned(R"(
graph summed(dy: f32[64, 128], rows: i64[64]) {
  zero = full {shape = [1000, 128], value = 0, dtype = f32}
  sums = index_put zero, dy, rows {axes = [0], accumulate = true}
  y = sum sums {axes = [0]}
  return y
})");
  ASSERT_THAT(program.boundaries, Not(IsEmpty()));
  EXPECT_THAT(program.boundaries[0].reason,
              HasSubstr("y has 128 elements, the rows of sums have 128000"));
}

constexpr const char* kCorners = R"(
graph corners(x: f32[4096, 64], i: i64[4096], j: i64[4096], u: bf16[1000, 64]) {
  zero = full {shape = [1000, 64], value = 0, dtype = f32}
  h = mul x, 0.5
  a = index_put zero, x, i {axes = [0], accumulate = true}
  b = index_put zero, h, j {axes = [0], accumulate = true}
  s = add a, b
  n = cast s {to = bf16}
  y = add n, u
  return y
})";

/// Both scatters add values of one array, so that one load serves both. Only the combined result is
/// stored.
TEST(ScatterKernelsTest, ScattersOfEqualShapesAreOneKernel) {
  const Program program = planned(kCorners);
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, IsEmpty());
  const Source source = emitted(program);
  EXPECT_EQ(evaluate(source.traffic.bytes_written, {}), 1000 * 64 * 2);
  EXPECT_EQ(evaluate(source.traffic.bytes_read, {}),
            4096 * 64 * 4 + 2 * 2 * 4096 * 8 + 1000 * 64 * 2);
  EXPECT_THAT(source.text, HasSubstr("owned_1[element] = "));
}

/// Their indices may name rows of different blocks, and each block would then load both arrays.
TEST(ScatterKernelsTest, ScattersOfDifferentArraysRunInTurn) {
  const Program program = planned(R"(
graph pair(x: f32[4096, 64], h: f32[4096, 64], i: i64[4096], j: i64[4096]) {
  zero = full {shape = [1000, 64], value = 0, dtype = f32}
  a = index_put zero, x, i {axes = [0], accumulate = true}
  b = index_put zero, h, j {axes = [0], accumulate = true}
  y = add a, b
  return y
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(emitted(program).text, Not(HasSubstr("owned_1")));
}

TEST(ScatterKernelsTest, ChainedScattersAreSeparateKernels) {
  const Program program = planned(R"(
graph chained(x: f32[4096, 64], i: i64[4096], j: i64[4096]) {
  zero = full {shape = [1000, 64], value = 0, dtype = f32}
  a = index_put zero, x, i {axes = [0], accumulate = true}
  b = index_put a, x, j {axes = [0], accumulate = true}
  y = neg b
  return y
})");
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].sections, SizeIs(2));
}

/// Fewer blocks with more rows each read the indices fewer times.
TEST(ScatterKernelsTest, ManyRowsUseMoreSharedMemory) {
  const Program program = planned(R"(
graph vocabulary(dy: f32[8192, 768], rows: i64[8192]) {
  zero = full {shape = [50265, 768], value = 0, dtype = f32}
  sums = index_put zero, dy, rows {axes = [0], accumulate = true}
  return sums
})");
  const Source source = emitted(program);
  EXPECT_FALSE(source.traffic.writes_are_bound);
  EXPECT_EQ(evaluate(source.traffic.bytes_written, {}), 50265 * 768 * 4);
  EXPECT_GT(source.shared_bytes, 96 * 1024);
  EXPECT_LE(source.shared_bytes, find_target("h200")->shared_per_block_opt_in);
}

}  // namespace
}  // namespace sinter::scatter_residency_test
