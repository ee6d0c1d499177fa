// Outputs and updated inputs that are not row-major.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ir/graph/node.h"
#include "sinter/sinter.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"
#include "tests/support/run/run.h"

namespace sinter::test::layouts_test {
namespace {

using ::testing::ElementsAre;

TEST(Layouts, EveryKernelKind) {
  run_and_check(R"(
graph kinds(x: f32[12, 40], i: i64[12] {range = [0, 11]}) {
  rows = sum x {axes = [1]}
  columns = sum x {axes = [0], keep = true}
  total = sum x {axes = [0, 1]}
  running = cumsum x {axis = 1}
  along = cumsum x {axis = 0}
  placed = index_put x, x, i {axes = [0]}
  spread = sub x, columns
  return rows {strides = [3]}, columns {strides = [1, 2]}, total, running {strides = [1, 13]}, along {strides = [41, 1]}, placed {strides = [1, 12]}, spread {strides = [1, 16]}
})");
}

TEST(Layouts, OneValueInSeveralLayouts) {
  const RunResult result = run_and_check(R"(
graph shared(x: f32[64, 48]) {
  y = exp x
  s = sum y {axes = [0]}
  t = sum y {axes = [1]}
  z = cumsum y {axis = 0}
  return y {strides = [1, 64]}, again = y, padded = y {strides = [50, 1]}, s, t, z
})");
  EXPECT_LE(result.launches, 4);
}

/// A kernel of rows can store the row-major concat, but not the one whose segments are contiguous
/// across rows.
TEST(Layouts, ConcatOfRowsInTwoLayouts) {
  run_and_check(R"(
graph shared_concat(x: f32[1, 2, 1]) {
  m = max x {axes = [1], keep = true}
  d = sub x, m
  y = concat d, x {axis = 1}
  return y, spaced = y {strides = [1, 2, 1]}
})");
}

/// Rows that no block keeps: the kernel sums them in its one result.
TEST(Layouts, ScatterOfLongRowsInSeveralPlaces) {
  run_and_check(R"(
graph layouts(x: f32[10, 16384], s: f32[6, 16384], i: i64[6] {range = [0, 9]}) {
  p = index_put x, s, i {axes = [0]}
  return p, q = p {strides = [1, 10]}, r = p
})");
  run_and_check(R"(
graph table(t: f32[10, n], s: f32[6, n], i: i64[6] {range = [0, 9]}) {
  u = index_put t, s, i {axes = [0], accumulate = true}
  update t, u
  return u
})",
                {{"n", 16384}});
}

TEST(Layouts, LongRowsInManyBlocks) {
  run_and_check(R"(
graph long_rows(x: f32[2, 70000]) {
  m = mean x {axes = [1], keep = true}
  d = sub x, m
  return d {strides = [1, 2]}, m {strides = [5, 1]}
})");
}

TEST(Layouts, StridesWithSymbols) {
  const char* const text = R"(
graph symbols(x: f32[n, 3, h, w] {strides = [h * w * 3, 1, w * 3, 3]}, bias: f32[3, 1, 1]) {
  y = add x, bias
  return y {strides = [h * w * 4, 1, w * 4, 4]}, row_major = y
})";
  run_and_check(text, {{"n", 2}, {"h", 5}, {"w", 7}});
  run_and_check(text, {{"n", 1}, {"h", 1}, {"w", 1}});
  run_and_check(text, {{"n", 0}, {"h", 5}, {"w", 7}});
}

TEST(Layouts, ChannelsLastUsesVectors) {
  const RunResult result = run_and_check(R"(
graph channels_last(x: f32[2, 8, 5, 5] {strides = [200, 1, 40, 8]}, parameter: f32[2, 8, 5, 5] {strides = [200, 1, 40, 8]}) {
  y = mul x, 2
  next = add parameter, x
  update parameter, next
  return y {strides = [200, 1, 40, 8]}
})");
  for (const KernelReport& kernel : result.report.variants.at(0).kernels)
    EXPECT_NE(kernel.source.find("load<4>"), std::string::npos) << kernel.source;
  // The update is in place, without a copy.
  EXPECT_LE(result.launches, 2);
}

/// y[rows, 3] = x + 1, with the given strides.
Graph shifted(std::initializer_list<Extent> strides) {
  Graph graph("shifted");
  const Tensor x = graph.input("x", f32, {graph.extent("rows"), 3});
  graph.output("y", x + 1, {.strides = strides});
  return graph;
}

TEST(Layouts, DoesNotWriteBetweenRows) {
  const Device device = host_device();
  const Stream stream = device.stream();
  Context context = compile(shifted({5, 1}), device, {.tune = Tune::off}).context();
  const Array x = device.empty(f32, {2, 3});
  const Array memory = device.empty(f32, {8});
  device.upload(x, std::vector<float>{0, 1, 2, 3, 4, 5}, stream);
  device.upload(memory, std::vector<float>(8, -1), stream);
  context.run(stream, {{"x", x}}, {{"y", memory.view(0, f32, {2, 3}, {5, 1})}});
  EXPECT_THAT(device.download<float>(memory, stream), ElementsAre(1, 2, 3, -1, -1, 4, 5, 6));
}

TEST(Layouts, AllocatedOutputsHaveTheStrides) {
  const Device device = host_device();
  const Stream stream = device.stream();
  Context context = compile(shifted({1, 7}), device, {.tune = Tune::off}).context();
  const Outputs outputs = context.run(stream, {{"x", device.empty(f32, {7, 3})}});
  EXPECT_THAT(outputs["y"].strides(), ElementsAre(1, 7));
  EXPECT_THAT(outputs["y"].shape(), ElementsAre(7, 3));
}

TEST(Layouts, RejectsBoundArraysWithOtherStrides) {
  const Device device = host_device();
  const Stream stream = device.stream();
  const Array x = device.empty(f32, {2, 3});
  Context padded = compile(shifted({5, 1}), device, {.tune = Tune::off}, "model.cpp", 7).context();
  EXPECT_EQ(error_of([&] {
              padded.run(stream, {{"x", x}}, {{"y", device.empty(f32, {2, 3})}});
            }),
            "shifted: output y is f32[rows, 3] but bound to f32[2, 3] with strides [3, 1]: the "
            "stride of axis 0 must be 5 (compiled at model.cpp:7)");
  Context dense = compile(shifted({}), device, {.tune = Tune::off}, "model.cpp", 7).context();
  EXPECT_EQ(error_of([&] {
              dense.run(stream, {{"x", x}}, {{"y", device.empty(f32, {2, 3}, {5, 1})}});
            }),
            "shifted: output y is row-major but bound to f32[2, 3] with strides [5, 1]; bind a "
            "row-major copy, or record the output with these strides (compiled at model.cpp:7)");
  // The strides [1, 2] are free of overlaps for two rows, but not for three.
  Context folded = compile(shifted({1, 2}), device, {.tune = Tune::off}, "model.cpp", 7).context();
  EXPECT_EQ(error_of([&] {
              folded.run(stream, {{"x", device.empty(f32, {3, 3})}},
                         {{"y", device.empty(f32, {3, 3}, {1, 2})}});
            }),
            "shifted: output y is written, but is bound to f32[3, 3] with strides [1, 2], which "
            "put two elements at one address; give each its own address (compiled at model.cpp:7)");
}

TEST(Layouts, RejectsInvalidStrides) {
  const auto error = [](std::vector<Extent> strides) {
    Graph graph("bad");
    const Tensor x = graph.input("x", f32, {4, 3});
    return error_of([&] { graph.output("y", Operand(x, "model.cpp", 12), {.strides = strides}); });
  };
  EXPECT_EQ(error({1}),
            "output y: 1 strides [1] for a value of rank 2, f32[4, 3] (recorded at model.cpp:12)");
  const auto folded = [](std::string_view strides) {
    return fmt::format(
        "output y: strides {} put two elements of f32[4, 3] at one offset; make each stride "
        "larger than the range of the smaller strides (recorded at model.cpp:12)",
        strides);
  };
  EXPECT_EQ(error({0, 1}), folded("[0, 1]"));
  EXPECT_EQ(error({2, 1}), folded("[2, 1]"));
  EXPECT_EQ(error({-3, 1}),
            "output y: strides [-3, 1] are negative; use flip to reverse an axis "
            "(recorded at model.cpp:12)");
  Graph graph("bad");
  EXPECT_EQ(error_of([&] {
              graph.input("z", f32, {4, 3}, {.strides = {-3, 1}}, "model.cpp", 12);
            }),
            "input z: strides [-3, 1] are negative; use flip to reverse an axis "
            "(recorded at model.cpp:12)");
  const Tensor x = graph.input("x", f32, {4, 3}, {.strides = {0, 1}});
  EXPECT_EQ(
      error_of([&] { graph.update(Operand(x, "model.cpp", 12), x + 1); }),
      "update x: its strides [0, 1] put two elements of f32[4, 3] at one offset, so it cannot "
      "be written (recorded at model.cpp:12)");
}

TEST(Layouts, RoundTripAsText) {
  const std::string text =
      "graph g(x: f32[n, 3]) {\n"
      "  y = neg x\n"
      "  return y {strides = [1, n + 2]}, z = y {strides = [4, 1]}\n"
      "}\n";
  EXPECT_EQ(print(parse(text, "g.sinter")), text);
  const auto error = [](std::string_view result) {
    return error_of([&] {
      parse(fmt::format("graph g(x: f32[4, 3]) {{\n  y = neg x\n  return y {}\n}}\n", result),
            "g.sinter");
    });
  };
  EXPECT_THAT(error("{stride = [1, 4]}"),
              ::testing::HasSubstr("'strides', the option of an output"));
  EXPECT_THAT(error("{strides = [1]}"),
              ::testing::HasSubstr("1 strides [1] for a value of rank 2"));
  // Row-major strides are equivalent to none.
  const Graph same =
      parse("graph g(x: f32[4, 3]) {\n  y = neg x\n  return y {strides = [3, 1]}\n}\n", "g.sinter");
  EXPECT_TRUE(same.data().outputs[0].strides.empty());
}

}  // namespace
}  // namespace sinter::test::layouts_test
