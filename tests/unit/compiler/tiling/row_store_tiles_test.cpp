// Transposed results of row reductions: which kernels store them through tiles in shared memory.
#include "compiler/tiling/row_store_tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "codegen/emit.h"
#include "compiler/body_building/build_body.h"
#include "tests/support/graphs/planned.h"

namespace sinter::row_store_tiles_test {
namespace {

using test::planned;
using testing::HasSubstr;
using testing::SizeIs;

/// A norm of `rows` rows. It returns the result and its transpose.
std::string transposed_norm(int rows, int columns, std::string_view dtype) {
  return fmt::format(R"(
graph transposed_norm(x: f32[{0}, {1}]) {{
  v, m = var_mean x {{axes = [1], correction = 0, keep = true}}
  d = sub x, m
  e = add v, 1e-6
  r = rsqrt e
  y = mul d, r
  p = permute y {{axes = [1, 0]}}
  t = cast p {{to = {2}}}
  return y, t
}})",
                     rows, columns, dtype);
}

TEST(RowStoreTiles, RowKernelStoresATransposedResult) {
  const Program program = planned(transposed_norm(8192, 512, "bf16"));
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.kind, KernelKind::row_reduce);
  EXPECT_EQ(kernel.schedule.tile, 16) << "a sector of neighbouring rows";
  EXPECT_EQ(kernel.schedule.rows_per_block, 16);
  EXPECT_THAT(to_string(kernel.schedule), HasSubstr("rows transposed in tiles"));
  const Body body = body_of(program, kernel);
  const std::vector<int> transposed = transposed_stores(body, program.facts);
  ASSERT_THAT(transposed, SizeIs(1));
  const BodyStore& store = body.stores[static_cast<std::size_t>(transposed[0])];
  EXPECT_EQ(store.node->dtype, DType::bf16);
  EXPECT_EQ(row_tile_vector(body, store, kernel.schedule, program.facts), 8);
  EXPECT_EQ(row_tile_bytes(body, store, 16, 4, {}), 512 * 16 * 2 + 128 * 4);
  const Source source = emit(program, kernel, kernel.schedule, "kernel");
  constexpr std::int64_t kElements = 8192 * 512;
  EXPECT_EQ(evaluate(source.traffic.bytes_read, {}), 4 * kElements);
  EXPECT_EQ(evaluate(source.traffic.bytes_written, {}), 6 * kElements);
  EXPECT_EQ(source.shared_bytes, 512 * 16 * 2 + 128 * 4);
}

TEST(RowStoreTiles, RowsPerBlockFillASector) {
  EXPECT_EQ(planned(transposed_norm(8192, 512, "f64")).kernels[0].schedule.tile, 4);
  EXPECT_EQ(planned(transposed_norm(8192, 512, "f32")).kernels[0].schedule.tile, 8);
  EXPECT_EQ(planned(transposed_norm(8192, 512, "f8e4m3")).kernels[0].schedule.tile, 32);
}

TEST(RowStoreTiles, VectorsDivideTheNumberOfRows) {
  const Program program = planned(transposed_norm(8190, 512, "bf16"));
  const Kernel& kernel = program.kernels[0];
  const Body body = body_of(program, kernel);
  const int transposed = transposed_stores(body, program.facts).at(0);
  EXPECT_EQ(row_tile_vector(body, body.stores[static_cast<std::size_t>(transposed)],
                            kernel.schedule, program.facts),
            2);
}

TEST(RowStoreTiles, FewOrLongRowsUseASeparateSection) {
  for (const auto& [rows, columns] : {std::pair{64, 512}, std::pair{8192, 8192}}) {
    const Program program = planned(transposed_norm(rows, columns, "bf16"));
    bool has_reason = false;
    for (const Boundary& boundary : program.boundaries)
      has_reason |= boundary.reason.find("no block computes enough") != std::string::npos;
    EXPECT_TRUE(has_reason) << rows << " rows of " << columns;
  }
}

/// A size class has space for its longest rows, and a guard states it.
TEST(RowStoreTiles, OfSymbolicRowsHaveSpaceForTheLongest) {
  std::string text = transposed_norm(8192, 77777, "bf16");
  text.replace(text.find("77777"), 5, "columns");
  const Program program = planned(text, "h200", {300});
  ASSERT_THAT(program.kernels, SizeIs(1));
  const Kernel& kernel = program.kernels[0];
  EXPECT_EQ(kernel.schedule.tile, 16);
  EXPECT_EQ(emit(program, kernel, kernel.schedule, "kernel").shared_bytes, 512 * 16 * 2 + 128 * 4);
  for (const std::int64_t length : {272, 304, 512}) EXPECT_TRUE(holds(program, {&length, 1}));
  for (const std::int64_t length : {256, 513}) EXPECT_FALSE(holds(program, {&length, 1}));
}

/// Tiles and staged rows together fit in shared memory, also on devices that have less of it.
TEST(RowStoreTiles, FitInTheSharedMemoryOfTheDevice) {
  for (const char* device : {"t4", "rtx_4090", "a100", "h200"}) {
    const Program program = planned(R"(
graph turned_rotation(x: bf16[8192, 1984]) {
  f = cast x {to = f32}
  q = mul f, f
  m = mean q {axes = [1], keep = true}
  r = rsqrt m
  n = mul f, r
  y = cast n {to = bf16}
  high = slice y {axis = 1, begin = 992, end = 1984}
  low = slice y {axis = 1, begin = 0, end = 992}
  t = concat high, low {axis = 1}
  z = add y, t
  p = permute z {axes = [1, 0]}
  c = exp p
  return z, c
})",
                                    device);
    for (const Kernel& kernel : program.kernels)
      for (const Schedule& schedule : kernel.candidates)
        EXPECT_LE(emit(program, kernel, schedule, "kernel").shared_bytes,
                  find_target(device)->shared_per_block_opt_in)
            << device << ": " << to_string(schedule);
  }
}

}  // namespace
}  // namespace sinter::row_store_tiles_test
