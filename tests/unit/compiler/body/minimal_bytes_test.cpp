// minimal_bytes, compared with byte counts computed by hand.
#include "compiler/body/minimal_bytes.h"

#include "ir/verify/symbol_sizes.h"
#include "sinter/text.h"

#include <gtest/gtest.h>

namespace sinter::minimal_bytes_test {
namespace {

std::int64_t minimum(std::string_view text, std::span<const NamedSize> sizes = {}) {
  const Graph graph = parse(text);
  return minimal_bytes(graph.data(), symbols_from_sizes(graph, sizes));
}

TEST(MinimalBytesTest, InputsAndOutputsCountOnce) {
  const NamedSize sizes[] = {{"n", 100}};
  EXPECT_EQ(minimum("graph g(x: f32[n], b: bf16[n]) {\n"
                    "  h = cast b {to = f32}\n  y = add x, h\n  z = mul x, y\n  return y, z\n}",
                    sizes),
            400 + 200 + 400 + 400);
}

TEST(MinimalBytesTest, UnusedInputsAndScalarsAreFree) {
  EXPECT_EQ(minimum("graph g(x: f32[8], unused: f32[1000], s: f32) {\n"
                    "  y = mul x, s\n  return y\n}"),
            32 + 32);
}

TEST(MinimalBytesTest, SlicesReadOnlyTheirElements) {
  EXPECT_EQ(minimum("graph g(x: f32[10, 8]) {\n"
                    "  a = slice x {axis = 0, begin = 0, end = 2}\n  y = exp a\n  return y\n}"),
            64 + 64);
}

TEST(MinimalBytesTest, OverlappingSlicesReadEachElementOnce) {
  EXPECT_EQ(minimum("graph g(x: f32[10]) {\n"
                    "  a = slice x {axis = 0, begin = 0, end = 9}\n"
                    "  b = slice x {axis = 0, begin = 1, end = 10}\n"
                    "  y = add a, b\n  return y\n}"),
            40 + 36);
}

TEST(MinimalBytesTest, BroadcastsAreReadOnceAndWrittenInFull) {
  EXPECT_EQ(minimum("graph g(x: f32[1, 8], y: f32[4, 8]) {\n"
                    "  a = broadcast_to x {shape = [4, 8]}\n  b = add a, y\n  return b\n}"),
            32 + 128 + 128);
  EXPECT_EQ(minimum("graph g(x: f32[1, 8]) {\n"
                    "  e = exp x\n  a = broadcast_to e {shape = [4, 8]}\n  return a\n}"),
            32 + 128);
}

TEST(MinimalBytesTest, OutputsThatAreViewsAreNotWritten) {
  Graph graph = parse(
      "graph g(x: f32[4, 8]) {\n"
      "  y = exp x\n  t = permute y {axes = [1, 0]}\n  return y, t\n}");
  EXPECT_EQ(minimal_bytes(graph.data(), {}), 128 + 128 + 128);
  graph.data().outputs[1].is_unwritten = true;
  EXPECT_EQ(minimal_bytes(graph.data(), {}), 128 + 128);
}

TEST(MinimalBytesTest, OneSliceInTwoOrdersIsReadOnce) {
  EXPECT_EQ(minimum("graph g(x: f32[10, 8]) {\n"
                    "  a = slice x {axis = 0, begin = 2, end = 8}\n"
                    "  s = sum a {axes = [0]}\n"
                    "  t = permute a {axes = [1, 0]}\n  y = exp t\n  return s, y\n}"),
            6 * 32 + 32 + 6 * 32);
}

TEST(MinimalBytesTest, GathersReadAtMostTheirResult) {
  EXPECT_EQ(minimum("graph g(table: f32[1000, 4], rows: i64[3]) {\n"
                    "  y = take table, rows {axis = 0}\n  return y\n}"),
            48 + 24 + 48);
  EXPECT_EQ(minimum("graph g(table: f32[2, 4], rows: i64[3]) {\n"
                    "  y = take table, rows {axis = 0}\n  return y\n}"),
            32 + 24 + 48);
}

TEST(MinimalBytesTest, UpdatesAreWritten) {
  EXPECT_EQ(minimum("graph g(w: f32[8], d: f32[8]) {\n"
                    "  n = sub w, d\n  update w, n\n}"),
            32 + 32 + 32);
}

}  // namespace
}  // namespace sinter::minimal_bytes_test
