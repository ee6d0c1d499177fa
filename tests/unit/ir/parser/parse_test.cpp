// Parses graphs in text form and prints them again. Texts with errors are in
// tests/golden/ir/errors.
#include "ir/parser/op_syntax.h"
#include "ir/record/record.h"
#include "ir/verify/verify.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::parse_test {
namespace {

using test::error_of;

/// The printed form of `statements` over a few inputs.
std::string body_of(const std::string& statements) {
  const std::string text =
      print(parse("graph g(x: f32[6, 4], b: bool[6, 4], i: i64[4], r: f32[rows, 4], lr: f32) {\n" +
                  statements + "\n}"));
  const std::size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.rfind('}') - begin);
}

TEST(ParseTest, PrintedTextIsAFixedPoint) {
  const std::string text =
      R"(graph rms_norm(x: bf16[rows, 4096], weight: bf16[4096] {range = [0.5, 1.5]}) {
  h = cast x {to = f32}
  sq = mul h, h
  ms = mean sq {axes = [1], keep = true}
  eps = add ms, 1e-06
  r = rsqrt eps
  n = mul h, r
  w = cast weight {to = f32}
  s = mul n, w
  y = cast s {to = bf16}
  return y
}
)";
  EXPECT_EQ(print(parse(text)), text);
}

TEST(ParseTest, IgnoresSpacesCommentsAndLineEnds) {
  const std::string tidy = "graph g(x: f32[4]) {\n  y = exp x\n  return y\n}\n";
  EXPECT_EQ(print(parse("\xEF\xBB\xBF// a comment\r\ngraph g ( x:f32 [4] )\r\n{ // more\r\n"
                        "y=exp x\t\r\n\r\n  return\r\n y // end\r\n}")),
            tidy);
  EXPECT_EQ(print(parse("graph g(\n  x: f32[4]) {\n  y = exp x\n  return y }  // run: anything")),
            tidy);
}

TEST(ParseTest, ValuesMayHaveNamesOfOps) {
  EXPECT_EQ(body_of("exp = exp x\nmul = mul exp, exp\nf32 = cast mul {to = f64}\nreturn f32"),
            "  exp = exp x\n  mul = mul exp, exp\n  f32 = cast mul {to = f64}\n  return f32\n");
}

TEST(ParseTest, LiteralsHaveTheTypeOfTheirOp) {
  EXPECT_EQ(body_of("a = add x, 1\nc = sub -2.5e0, a\nd = maximum c, -inf\ne = where b, d, nan\n"
                    "f = eq b, true\ng = add i, -3\nreturn a, c, d, e, f, g"),
            "  a = add x, 1.0\n  c = sub -2.5, a\n  d = maximum c, -inf\n  e = where b, d, nan\n"
            "  f = eq b, true\n  g = add i, -3\n  return a, c, d, e, f, g\n");
}

TEST(ParseTest, ExtentsAreExpressionsOfSymbols) {
  const std::string text =
      "graph g(x: f32[n * 16 + 1, m], y: f32[floor_div(n + 3, 4), 2 * (m - 1)]) {\n"
      "  a = exp x\n  c = exp y\n  return a, c\n}\n";
  EXPECT_EQ(print(parse(text)),
            "graph g(x: f32[n * 16 + 1, m], y: f32[floor_div(n + 3, 4), m * 2 - 2]) {\n"
            "  a = exp x\n  c = exp y\n  return a, c\n}\n");
}

TEST(ParseTest, ShapesInAttributesMayBeSymbols) {
  EXPECT_EQ(body_of("a = reshape r {shape = [-1]}\nc = reshape a {shape = [4, rows]}\n"
                    "d = full {shape = [rows, 1], value = 0, dtype = i32}\n"
                    "e = iota {extent = rows + 1}\nf = slice r {axis = 0, begin = 1, end = rows}\n"
                    "return a, c, d, e, f"),
            "  a = reshape r {shape = [rows * 4]}\n  c = reshape a {shape = [4, rows]}\n"
            "  d = full {shape = [rows, 1], value = 0, dtype = i32}\n"
            "  e = iota {extent = rows + 1, start = 0, step = 1, dtype = i64}\n"
            "  f = slice r {axis = 0, begin = 1, end = rows, step = 1}\n"
            "  return a, c, d, e, f\n");
}

TEST(ParseTest, AttributesHaveTheirDefaults) {
  EXPECT_EQ(body_of("a = sum x\nc = argmax x {axis = 1}\nd = var x {axes = [0]}\nreturn a, c, d"),
            "  a = sum x {axes = [0, 1], keep = false}\n"
            "  c = argmax x {axis = 1, keep = false}\n"
            "  d = var x {axes = [0], correction = 0, keep = false}\n"
            "  return a, c, d\n");
}

TEST(ParseTest, AnIndexOfAnExtremeWithoutAxisCountsAllElements) {
  EXPECT_EQ(body_of("a = argmax x\nc = argmin x {keep = true}\nreturn a, c"),
            "  reshape_1 = reshape x {shape = [24]}\n"
            "  a = argmax reshape_1 {axis = 0, keep = false}\n"
            "  argmin_3 = argmin reshape_1 {axis = 0, keep = false}\n"
            "  c = reshape argmin_3 {shape = [1, 1]}\n"
            "  return a, c\n");
  EXPECT_EQ(body_of("v, n = max_with_index x\nreturn v, n"),
            "  v = max x {axes = [0, 1], keep = false}\n"
            "  reshape_2 = reshape x {shape = [24]}\n"
            "  n = argmax reshape_2 {axis = 0, keep = false}\n"
            "  return v, n\n");
}

TEST(ParseTest, IntegersMayBeWrittenAsReals) {
  EXPECT_EQ(body_of("a = var x {axes = [0], correction = 1.0}\nreturn a"),
            "  a = var x {axes = [0], correction = 1, keep = false}\n  return a\n");
}

TEST(ParseTest, CompositesExpandToOps) {
  EXPECT_EQ(body_of("y = sigmoid x\nz = relu y\nc = copy z\nq = square c\nreturn c, q"),
            "  ge_1 = ge x, 0.0\n  neg_2 = neg x\n  where_3 = where ge_1, neg_2, x\n"
            "  exp_4 = exp where_3\n  where_5 = where ge_1, 1.0, exp_4\n  add_6 = add exp_4, 1.0\n"
            "  y = div where_5, add_6\n  z = maximum y, 0.0\n  q = mul z, z\n  return c = z, q\n");
}

TEST(ParseTest, VarMeanReturnsTheVarianceFirst) {
  EXPECT_EQ(body_of("v, m = var_mean x {axes = [1], correction = 1, keep = true}\nreturn v, m"),
            "  v = var x {axes = [1], correction = 1, keep = true}\n"
            "  m = mean x {axes = [1], keep = true}\n  return v, m\n");
}

TEST(ParseTest, KeepsAnOrderOfAxes) {
  EXPECT_EQ(body_of("a = sum x {axes = [0, 1], keep = false, order = [1, 0]}\nreturn a"),
            "  a = sum x {axes = [0, 1], keep = false, order = [1, 0]}\n  return a\n");
}

TEST(ParseTest, TypesAreChecked) {
  EXPECT_EQ(body_of("a = exp x : f32[6, 4]\nreturn a"), "  a = exp x\n  return a\n");
  EXPECT_NE(error_of([] {
              body_of("a = exp x : f32[6, 5]\nreturn a");
            }).find("the value is f32[6, 4], not f32[6, 5]"),
            std::string::npos);
}

TEST(ParseTest, OutputsMayHaveTheirOwnNames) {
  EXPECT_EQ(body_of("a = exp x\nupdate x, a\nreturn loss = a, x"),
            "  a = exp x\n  update x, a\n  return loss = a, x\n");
  const Graph graph = parse("graph g(x: f32[4]) { return y = x\n}");
  EXPECT_EQ(graph.data().outputs[0].name, "y");
}

TEST(ParseTest, UpdatesSufficeAsResults) {
  EXPECT_EQ(body_of("a = exp x\nupdate x, a"), "  a = exp x\n  update x, a\n");
}

TEST(ParseTest, InputsHaveStridesAndRanges) {
  const std::string text =
      "graph g(x: f32[4, 8] {strides = [9, 1], range = [-1, 0.5]}, n: i64 {range = [0, 9]}) {\n"
      "  y = exp x\n  return y\n}\n";
  const Graph graph = parse(text);
  EXPECT_EQ(print(graph), text);
  EXPECT_EQ(graph.data().inputs[0].low, -1.0);
  EXPECT_EQ(graph.data().inputs[1].high, 9.0);
  EXPECT_EQ(graph.data().inputs[1].node->op, Op::scalar);
}

TEST(ParseTest, NodesHaveTheirLine) {
  const Graph graph = parse("graph g(x: f32[4]) {\n\n  y = exp x\n  return y\n}", "a/model.sinter");
  EXPECT_EQ(graph.data().location_text(graph.data().outputs[0].node), "model.sinter:3");
}

TEST(ParseTest, KeepsTheFirstNameOfAValue) {
  EXPECT_EQ(body_of("a = exp x\nc = exp x\nd = copy a\nreturn c, d"),
            "  a = exp x\n  return c = a, d = a\n");
}

/// A statement that records `syntax` over the inputs of the text below.
std::string statement_for(const OpSyntax& syntax) {
  if (syntax.name == "cast") return "cast x {to = f16}";
  if (syntax.name == "reshape") return "reshape x {shape = [4, -1]}";
  if (syntax.name == "permute") return "permute x {axes = [1, 0]}";
  if (syntax.name == "broadcast_to") return "broadcast_to x {shape = [3, 6, 4]}";
  if (syntax.name == "slice") return "slice x {axis = 0, begin = 1, end = -1, step = 2}";
  if (syntax.name == "concat") return "concat x, w, x {axis = 0}";
  if (syntax.name == "flip") return "flip x {axes = [1]}";
  if (syntax.name == "as_strided")
    return "as_strided x {shape = [2, 3], strides = [4, 1], offset = 2}";
  if (syntax.name == "unfold") return "unfold x {axis = 0, size = 3, step = 2}";
  if (syntax.name == "scatter") return "scatter x, i, s {accumulate = true}";
  if (syntax.name == "squeeze") return "squeeze c {axis = 1}";
  if (syntax.name == "unsqueeze") return "unsqueeze x {axis = -1}";
  if (syntax.name == "transpose") return "transpose x {axes = [0, -1]}";
  if (syntax.name == "select") return "select x {axis = 0, index = -2}";
  if (syntax.name == "stack") return "stack x, w {axis = 1}";
  if (syntax.name == "tile") return "tile x {repeats = [2, 1, 3]}";
  if (syntax.name == "repeat") return "repeat x {times = 2, axis = 0}";
  if (syntax.name == "roll") return "roll x {shift = -1, axis = 1}";
  if (syntax.name == "pad") return "pad x {low = [1, 0], high = [0, -1], value = 2.5}";
  if (syntax.name == "pad_edge" || syntax.name == "pad_reflect")
    return std::string(syntax.name) + " x {low = [1, 0], high = [0, 2]}";
  if (syntax.name == "slice_scatter")
    return "slice_scatter x, s {axis = 0, begin = 0, end = 6, step = 2}";
  if (syntax.name == "select_scatter") return "select_scatter x, v4 {axis = 0, index = 1}";
  if (syntax.name == "one_hot") return "one_hot i {classes = 5}";
  if (syntax.name == "embedding") return "embedding x, i";
  if (syntax.name == "index") return "index x, i, i {axes = [0, 1]}";
  if (syntax.name == "index_put") return "index_put x, s, i {axes = [0], accumulate = true}";
  if (syntax.name == "scatter_add") return "scatter_add x, j, p {axis = 1}";
  if (syntax.name == "max_pool_backward")
    return "max_pool_backward x, k {shape = [7, 8], window = [2, 2], stride = [1, 2], padding = "
           "[0, 0]}";
  if (syntax.name == "avg_pool" || syntax.name.starts_with("max_pool"))
    return std::string(syntax.name) + " x {window = [2, 2], stride = [1, 2], padding = [1, 0]}";
  if (syntax.name == "grid_sample") return "grid_sample image, grid";
  if (syntax.name == "random_bernoulli")
    return "random_bernoulli seed {shape = [3], probability = 0.5}";
  if (syntax.name.starts_with("random_"))
    return std::string(syntax.name) + " seed {shape = [3, n]}";
  if (syntax.name == "dropout") return "dropout x, seed {probability = 0.1}";
  if (syntax.name == "std") return "std x {axes = [1], correction = 1}";
  if (syntax.name == "layer_norm" || syntax.name == "rms_norm")
    return std::string(syntax.name) + " x";
  if (syntax.name == "group_norm") return "group_norm x {groups = 2}";
  if (syntax.name == "quantize" || syntax.name == "dequantize")
    return std::string(syntax.name) + " x, 0.5";
  if (syntax.name == "instance_norm") return "instance_norm q";
  if (syntax.name == "batch_norm" || syntax.name == "batch_norm_inference")
    return std::string(syntax.name) + " x, v4, v4";
  if (syntax.name == "cross_entropy" || syntax.name == "nll_loss")
    return std::string(syntax.name) + " x, t";
  if (syntax.name == "custom")
    return "custom x, w {name = \"f\", source = \"float f(float a, float b) { return a * b; }\"}";
  if (syntax.name == "matmul") return "matmul x, w {transpose_b = true}";
  if (syntax.name == "conv") return "conv image, image {padding_begin = [1, 2]}";
  if (syntax.name == "conv_data_gradient")
    return "conv_data_gradient image, filters {shape = [2, 2, 5, 6]}";
  if (syntax.name == "conv_weight_gradient")
    return "conv_weight_gradient image, image {shape = [3, 3, 1, 1]}";
  if (syntax.name == "conv_transpose") return "conv_transpose image, filters {strides = [2, 1]}";
  if (syntax.name == "attention") return "attention q, q, q {is_causal = true}";
  if (syntax.name == "send_receive")
    return "send_receive x {group = \"g\", ranks = 3, pairs = [1, 1, 2, 0]}";
  if (syntax.row && is_collective(syntax.row->op))
    return std::string(syntax.name) + " x {group = \"g\", ranks = 3}";
  if (syntax.name == "take") return "take x, i {axis = 1}";
  if (syntax.name == "take_along_axis") return "take_along_axis x, j {axis = 1}";
  if (syntax.name == "full") return "full {shape = [3, n], value = 0.1, dtype = f32}";
  if (syntax.name == "iota") return "iota {extent = n, start = 3, step = -2, dtype = i32}";
  if (syntax.name == "size") return "size {extent = n * 2, dtype = f32}";
  if (syntax.name == "bitcast") return "bitcast x {to = i32}";
  if (syntax.name == "argmax") return "argmax x {axis = 0, keep = true}";
  if (syntax.name == "argmin") return "argmin x {axis = 0, keep = true}";
  if (syntax.name == "any" || syntax.name == "all")
    return std::string(syntax.name) + " b {axes = [0, 1], keep = true}";
  if (syntax.row && syntax.row->kind == OpKind::scan)
    return std::string(syntax.name) + " x {axis = 1}";
  if (syntax.row && syntax.row->kind == OpKind::reduction)
    return std::string(syntax.name) + " x {axes = [0, 1], keep = true}";
  if (syntax.row && syntax.row->types == TypeRule::Where) return "where b, x, w";
  std::string_view a = "x";
  std::string_view b = "w";
  if (syntax.row && !supports_dtype(syntax.row->types, f32))
    a = b = supports_dtype(syntax.row->types, boolean) ? "b" : "k";
  std::string text(syntax.name);
  for (int i = 0; i < syntax.operands; ++i)
    text += std::string(i == 0 ? " " : ", ") + std::string(i == 1 ? b : a);
  return text;
}

TEST(ParseTest, EveryOpRoundTrips) {
  for (const std::string_view name : op_names()) {
    const OpSyntax& syntax = *find_op_syntax(name);
    std::string results = "y";
    for (int i = 1; i < syntax.results; ++i) results += fmt::format(", y{}", i);
    const std::string text =
        "graph g(x: f32[6, 4], w: f32[6, 4], b: bool[6, 4], i: i64[3], j: i32[6, 2], k: i32[6, 4], "
        "v: f32[n], "
        "s: f32[3, 4], c: f32[6, 1], v4: f32[4], p: f32[6, 2], seed: i64[], "
        "image: f32[2, 3, 4, 5], grid: f32[2, 6, 7, 2], filters: f32[3, 2, 2, 2], q: f32[2, 3, 4], "
        "t: i64[6] {range = [0, 3]}) "
        "{\n  " +
        results + " = " + statement_for(syntax) + "\n  return " + results + "\n}\n";
    SCOPED_TRACE(text);
    const Graph graph = parse(text);
    verify(graph);
    const std::string printed = print(graph);
    EXPECT_EQ(print(parse(printed)), printed);
    const Node* y = graph.data().outputs[0].node;
    if (syntax.row) {
      EXPECT_EQ(y->op, syntax.row->op);
      // The op of a row prints as the same op. Attributes with defaults may be added.
      EXPECT_NE(printed.find("y = " + std::string(name)), std::string::npos) << printed;
    }
  }
}

TEST(ParseTest, AllRowsExceptInputsConstantsAndCallsHaveSyntax) {
  for (const OpInfo& row : op_table()) {
    const bool has_own_syntax = row.op == Op::input || row.op == Op::scalar ||
                                row.op == Op::constant || row.op == Op::opaque;
    EXPECT_EQ(find_op_syntax(row.name) == nullptr, has_own_syntax) << row.name;
  }
}

// The next tests parse hostile texts. The parser may throw only UserError.

void expect_error(const std::string& text) {
  const std::string message = error_of([&] { parse(text); });
  EXPECT_NE(message, "(nothing thrown)");
  EXPECT_LT(message.size(), 400'000U);
}

TEST(ParseTest, RejectsRandomBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string text(random() % 400, ' ');
    for (char& c : text) c = static_cast<char>(random());
    expect_error(text);
  }
  expect_error(std::string(1'000'000, '\0'));
  expect_error(std::string(1'000'000, '('));
}

TEST(ParseTest, HandlesDamagedTexts) {
  const std::string text = R"(graph g(x: f32[rows, 4] {strides = [5, 1]}, b: bool[4], lr: f32) {
  h = cast x {to = f64}
  v, m = var_mean h {axes = [-1], correction = 1, keep = true}
  y = where b, v, -1.5e3
  z = slice y {axis = 0, begin = 0, end = rows - 1, step = 2} : f64[floor_div(rows, 2), 4]
  update x, x
  return z, out = m
})";
  parse(text);
  std::mt19937 random(2);
  int read = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = text;
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: damaged.erase(at, 1 + random() % 8); break;
      case 1: damaged[at] = static_cast<char>(random()); break;
      case 2: damaged.insert(at, text.substr(random() % text.size(), random() % 30)); break;
      default: damaged.resize(at); break;
    }
    try {
      verify(parse(damaged));
      ++read;
    } catch (const UserError&) {
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 3000);
}

TEST(ParseTest, LimitsNesting) {
  const std::string many(100'000, '(');
  EXPECT_NE(error_of([&] {
              parse("graph g(x: f32[" + many + "]) {");
            }).find("text:1:81: brackets nest deeper than 64"),
            std::string::npos);
  expect_error("graph g(x: f32[" + std::string(100'000, '-') + "1]) {");
  expect_error("graph g(x: f32[4]) {\n y = sum x {axes = " + std::string(100'000, '['));
}

TEST(ParseTest, ErrorsShowInvisibleCharactersAsQuestionMarks) {
  const auto shown = [](const std::string& comment) {
    const std::string message = error_of(
        [&] { parse("graph g(x: f32[4]) {\n  y = none x  //" + comment + "\n  return y\n}"); });
    const std::size_t begin = message.find("//") + 2;
    return message.substr(begin, message.find('\n', begin) - begin);
  };
  // A character that is not shown has one question mark per byte.
  for (const std::string hidden : {"\u2028", "\u202e", "\u2066", "\u2069", "\u206f"})
    EXPECT_EQ(shown(hidden), "???") << hidden;
  EXPECT_EQ(shown("\u0085"), "??");
  for (const std::string visible : {"\u00e9", "\u2026", "\u202f", "\u2070", "\u207f", "\u2080"})
    EXPECT_EQ(shown(visible), visible);
}

TEST(ParseTest, LimitsTheNumberOfErrors) {
  std::string text = "graph g(x: f32[4]) {\n";
  for (int i = 0; i < 20'000; ++i) text += "  y" + std::to_string(i) + " = nonsense x\n";
  const std::string message = error_of([&] { parse(text); });
  EXPECT_NE(message.find("\ntext: these are the first 500 errors; there may be more"),
            std::string::npos);
}

TEST(ParseTest, Parses100000Statements) {
  std::string text = "graph g(x: f32[4]) {\n  v0 = exp x\n";
  for (int i = 1; i < 100'000; ++i)
    text += "  v" + std::to_string(i) + " = add v" + std::to_string(i - 1) + ", x\n";
  text += "  return v99999\n}\n";
  const Graph graph = parse(text);
  EXPECT_EQ(graph.data().nodes.size(), 100'001U);
  EXPECT_EQ(print(graph), text);
}

}  // namespace
}  // namespace sinter::parse_test
