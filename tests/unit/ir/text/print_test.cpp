// The text form of graphs: names, literals and attributes.
#include "ir/text/print.h"

#include "ir/record/record.h"
#include "sinter/text.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace sinter::print_test {
namespace {

TEST(PrintTest, PrintsARecordedGraph) {
  Graph graph("rms_norm");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", bf16, {rows, 4096});
  const Tensor weight = graph.input("weight", bf16, {4096}, {.low = 0.5, .high = 1.5});
  const Tensor h = cast(x, f32).label("h");
  const Tensor r = rsqrt(mean(h * h, {-1}, keep) + 1e-6);
  const Tensor n = h * r;
  graph.output("y", cast(n * cast(weight, f32), bf16));
  EXPECT_EQ(print(graph),
            "graph rms_norm(x: bf16[rows, 4096], weight: bf16[4096] {range = [0.5, 1.5]}) {\n"
            "  h = cast x {to = f32}\n"
            "  mul_2 = mul h, h\n"
            "  mean_3 = mean mul_2 {axes = [1], keep = true}\n"
            "  add_4 = add mean_3, 1e-06\n"
            "  rsqrt_5 = rsqrt add_4\n"
            "  mul_6 = mul h, rsqrt_5\n"
            "  cast_7 = cast weight {to = f32}\n"
            "  mul_8 = mul mul_6, cast_7\n"
            "  y = cast mul_8 {to = bf16}\n"
            "  return y\n"
            "}\n");
}

TEST(PrintTest, OmitsDeadValues) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {4});
  exp(x);
  graph.output("y", log(x));
  EXPECT_EQ(print(graph),
            "graph g(x: f32[4]) {\n"
            "  y = log x\n"
            "  return y\n"
            "}\n");
}

TEST(PrintTest, LongHeadsHaveALinePerInput) {
  Graph graph("g");
  graph.input("image", bf16, {128, 320, 8, 8}, {.strides = {20480, 1, 2560, 320}, .low = 0});
  graph.scalar("learning_rate", f32);
  graph.output("y", exp(graph.input("another_input_with_a_name", f64, {})));
  EXPECT_EQ(print(graph),
            "graph g(\n"
            "    image: bf16[128, 320, 8, 8] {strides = [20480, 1, 2560, 320], range = [0, inf]},\n"
            "    learning_rate: f32,\n"
            "    another_input_with_a_name: f64[]) {\n"
            "  y = exp another_input_with_a_name\n"
            "  return y\n"
            "}\n");
}

TEST(PrintTest, OutputsAndUpdatesNameTheirValues) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {4});
  const Tensor y = exp(x);
  graph.update(x, y);
  graph.output("y", y);
  graph.output("same", y);
  graph.output("old", x);
  EXPECT_EQ(print(graph),
            "graph g(x: f32[4]) {\n"
            "  y = exp x\n"
            "  update x, y\n"
            "  return y, same = y, old = x\n"
            "}\n");
}

TEST(PrintTest, MakesLabelsLegalAndUnique) {
  Graph graph("my graph");
  const Tensor x = graph.input("input/x", f32, {4});
  const Tensor a = exp(x).label("h");
  const Tensor b = log(a).label("h");
  const Tensor c = tanh(b).label("nan");
  const Tensor d = sqrt(c).label("2nd");
  graph.output("loss value", d);
  EXPECT_EQ(print(graph),
            "graph my_graph(input_x: f32[4]) {\n"
            "  h = exp input_x\n"
            "  h_2 = log h\n"
            "  nan_ = tanh h_2\n"
            "  _2nd = sqrt nan_\n"
            "  return loss_value = _2nd\n"
            "}\n");
}

TEST(PrintTest, OutputNamesAreUnique) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {4});
  graph.output("loss value", exp(x).label("a"));
  graph.output("loss_value", log(x).label("b"));
  const std::string text = print(graph);
  EXPECT_NE(text.find("  return loss_value = a, loss_value_ = b\n"), std::string::npos) << text;
  EXPECT_EQ(print(parse(text)), text);
}

TEST(PrintTest, LabelsTakePrecedenceOverGeneratedNames) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {4});
  const Tensor y = log(exp(x)).label("exp_1");
  graph.output("y", tanh(y));
  EXPECT_EQ(print(graph),
            "graph g(x: f32[4]) {\n"
            "  exp_1_2 = exp x\n"
            "  exp_1 = log exp_1_2\n"
            "  y = tanh exp_1\n"
            "  return y\n"
            "}\n");
}

TEST(PrintTest, NumbersAreTheShortestThatRoundTrip) {
  const auto real = [](double value, DType dtype) {
    return literal_text({.kind = Literal::Kind::real, .integer = 0, .real = value}, dtype);
  };
  EXPECT_EQ(real(static_cast<double>(0.1F), f32), "0.1");
  EXPECT_EQ(real(0.1, f64), "0.1");
  EXPECT_EQ(real(static_cast<double>(0.1F), f64), "0.10000000149011612");
  EXPECT_EQ(real(768, f32), "768.0");
  EXPECT_EQ(real(1e30, f64), "1e+30");
  EXPECT_EQ(real(-0.0, f32), "-0.0");
  EXPECT_EQ(real(std::numeric_limits<double>::infinity(), f32), "inf");
  EXPECT_EQ(real(-std::numeric_limits<double>::infinity(), bf16), "-inf");
  EXPECT_EQ(real(-std::nan(""), f32), "nan");
  EXPECT_EQ(real(5e-324, f64), "5e-324");
  EXPECT_EQ(literal_text({.kind = Literal::Kind::integer, .integer = INT64_MIN, .real = 0}, i64),
            "-9223372036854775808");
  EXPECT_EQ(literal_text({.kind = Literal::Kind::boolean, .integer = 1, .real = 0}, boolean),
            "true");
}

TEST(PrintTest, NonInlineConstantsAreArraysOfRank0) {
  Graph graph("g");
  GraphData& data = graph.data();
  const Tensor x = graph.input("x", f64, {4});
  const Tensor flag = graph.input("flag", boolean, {4});
  const Node* two = constant(data, "test", {.real = 2}, f64, {});
  const Node* three = constant(data, "test", {.real = 3}, f64, {});
  // Only the numbers determine the dtype of this `where`, and the parser would read them as f32.
  const Node* operands[] = {flag.node(), two, three};
  const Node* chosen = data.make(
      {.op = Op::where, .dtype = f64, .operands = operands, .shape = x.shape()}, {"m.cpp", 1});
  graph.output("y", x * Tensor(chosen, &data));
  const std::string text = print(graph);
  EXPECT_EQ(text,
            "graph g(x: f64[4], flag: bool[4]) {\n"
            "  constant = full {shape = [], value = 2.0, dtype = f64}\n"
            "  constant_2 = full {shape = [], value = 3.0, dtype = f64}\n"
            "  where_1 = where flag, constant, constant_2\n"
            "  y = mul x, where_1\n"
            "  return y\n"
            "}\n");
  EXPECT_EQ(print(parse(text)), text);
}

TEST(PrintTest, ShowsAnOrderThatIsNotRowMajor) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {6, 4}, {.strides = {1, 6}});
  graph.output("y", sum(x));
  EXPECT_NE(print(graph).find("y = sum x {axes = [0, 1], keep = false, order = [1, 0]}"),
            std::string::npos);
}

TEST(PrintTest, ShowsAnOrderThatDiffersFromTheDefault) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {6, 4}, {.strides = {1, 6}});
  const std::int64_t axes[] = {0, 1};
  graph.output("y", record_reduction(Op::sum, x, axes, {.order = axes}));
  const std::string text = print(graph);
  EXPECT_NE(text.find("y = sum x {axes = [0, 1], keep = false, order = []}"), std::string::npos);
  EXPECT_EQ(print(parse(text)), text);
}

}  // namespace
}  // namespace sinter::print_test
