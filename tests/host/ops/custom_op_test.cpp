// Custom ops of the user: they are fused like built-in ops, checked by the user's oracle, and
// invalid ones are rejected.
#include "sinter/custom_op.h"

#include "ir/oracle/interpret.h"
#include "ir/record/custom.h"
#include "sinter/error.h"
#include "sinter/gradient.h"
#include "sinter/text.h"
#include "sinter/views.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/oracle_support.h"
#include "tests/support/run/run.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::custom_op_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kScaled = "float scaled(float x, float by) {\n  return x * by + 1.0f;\n}";

CustomOptions scaled_options() {
  return {.oracle = [](std::span<const long double> x) -> long double {
            // Rounds like the device.
            return static_cast<float>(static_cast<float>(x[0] * x[1]) + 1.0F);
          },
          .vjp =
              [](std::span<const Tensor> x, Tensor, Tensor g) {
                return std::vector<Tensor>{g * x[1], g * x[0]};
              }};
}

TEST(CustomOp, FusesAndMatchesItsOracle) {
  Graph graph("custom");
  const Tensor x = graph.input("x", f32, {5, 33});
  const Tensor h = graph.input("h", bf16, {33});
  const Tensor a = custom_op("scaled", kScaled, {x, 1.5}, scaled_options());
  const Tensor b = custom_op("scaled", kScaled, {relu(x), h}, scaled_options());
  const Tensor many = custom_op(
      "places", "int places(int i, double d) { return i + (int)d; }", {cast(x, i32), cast(x, f64)},
      {.oracle = [](std::span<const long double> v) { return v[0] + std::trunc(v[1]); }});
  graph.output("y", a - b);
  graph.output("s", sum(b, {1}));
  graph.output("i", many);
  const RunResult run = run_and_check(graph);
  EXPECT_THAT(run.report.kernels[0].source, HasSubstr("#line 1 \"custom op scaled\""));
}

TEST(CustomOp, IsUndecidedWithoutAnOracle) {
  Graph graph("blind");
  const Tensor x = graph.input("x", f32, {7});
  graph.output("y", custom_op("twice", "float twice(float x) { return x + x; }", {x}));
  const HostArrays inputs = {{"x", array(f32, {7}, std::vector<double>(7, 1.5))}};
  EXPECT_TRUE(interpret(graph, inputs, {}).outputs.at("y").is_undecided(3));
  const RunResult run = run_graph(graph, host_device(), inputs, {});
  EXPECT_EQ(run.results.at("y").real_at(3), 3.0);
}

TEST(CustomOp, HasAGradientIfItHasAVjp) {
  Graph graph("gradient");
  const Tensor x = graph.input("x", f32, {4});
  const Tensor y = custom_op("scaled", kScaled, {x, 2.0}, scaled_options());
  graph.output("dx", gradient(sum(y), {x})[0]);
  const RunResult run = run_and_check(graph);
  EXPECT_EQ(run.results.at("dx").real_at(1), 2.0);
  const Tensor blind = custom_op("half", "float half_of(float x) { return x / 2; }", {x});
  EXPECT_THAT(error_of([&] { gradient(sum(blind), {x}); }), HasSubstr("custom"));
}

TEST(CustomOp, AnEmptyCotangentIsZero) {
  Graph graph("gradient");
  const Tensor x = graph.input("x", f32, {4});
  const Tensor w = graph.input("w", f32, {4});
  const Tensor y =
      custom_op("scaled", kScaled, {x, w}, {.vjp = [](std::span<const Tensor> v, Tensor, Tensor g) {
                  return std::vector<Tensor>{g * v[1], {}};
                }});
  const std::vector<Tensor> slopes = gradient(sum(y), {x, w});
  graph.output("dx", slopes[0]);
  graph.output("dw", slopes[1]);
  const HostArrays inputs = {{"x", array(f32, {4}, std::vector<double>(4, 1.5))},
                             {"w", array(f32, {4}, std::vector<double>(4, 2.5))}};
  const RunResult run = run_graph(graph, host_device(), inputs, {});
  EXPECT_EQ(run.results.at("dx").real_at(3), 2.5);
  EXPECT_EQ(run.results.at("dw").real_at(3), 0.0);
}

TEST(CustomOp, RejectsCotangentsWithOtherShapesOrGraphs) {
  Graph other("other");
  const Tensor foreign = other.input("foreign", f32, {4});
  const auto message = [](const auto& cotangent_of) {
    Graph graph("gradient");
    const Tensor x = graph.input("x", f32, {4});
    const Tensor y = custom_op("twice", "float twice(float x) { return x + x; }", {x},
                               {.vjp = [&](std::span<const Tensor>, Tensor, Tensor g) {
                                 return std::vector<Tensor>{cotangent_of(g)};
                               }});
    const Tensor total = sum(y);
    return error_of([&] { gradient(total, {x}); });
  };
  EXPECT_THAT(message([](Tensor g) { return sum(g); }),
              HasSubstr("the vjp of custom op twice returns for operand 1 a cotangent f32[] that "
                        "cannot be summed to f32[4]; return one with the shape of the operand or "
                        "of y, or {} for 0 (recorded at "));
  EXPECT_THAT(message([](Tensor g) { return slice(g, 0, 0, 3); }), HasSubstr("a cotangent f32[3]"));
  EXPECT_THAT(message([&](Tensor) { return foreign; }),
              HasSubstr("the vjp of custom op twice returns for operand 1 a cotangent of the graph "
                        "other, not of gradient; record it from the operands, y and g"));
  EXPECT_EQ(message([](Tensor g) { return unsqueeze(g, 0); }), "(nothing thrown)");
}

TEST(CustomOp, RoundTripsAsText) {
  const char* const text =
      "graph g(x: f32[6, 4]) {\n"
      "  y = custom x, 0.5 {name = \"scaled\", source = \"float scaled(float x, float by) {\\n  "
      "return x * by; // \\\"by\\\"\\n}\"}\n"
      "  return y\n}\n";
  const std::string printed = print(parse(text));
  EXPECT_EQ(print(parse(printed)), printed);
  EXPECT_THAT(printed, HasSubstr("// \\\"by\\\"\\n"));
}

TEST(CustomOp, RejectsInvalidSources) {
  Graph graph("wrong");
  const Tensor x = graph.input("x", f32, {3});
  const Tensor i = graph.input("i", i32, {3});
  const auto message = [&](std::string_view source, std::initializer_list<Operand> operands) {
    return error_of([&] { custom_op("f", source, operands, {}, "model.cpp", 7); });
  };
  EXPECT_EQ(message("float f(float a) { return a; }", {x, x}),
            "custom op f: f takes 1 operands, 2 are given (recorded at model.cpp:7)");
  EXPECT_EQ(message("float f(float a, float b) { return a; }", {x, i}),
            "custom op f: parameter 2 of f is float, but operand 2 is i32[3]; cast it to f32 "
            "(recorded at model.cpp:7)");
  EXPECT_THAT(message("float f(float* a) { return *a; }", {x}),
              AllOf(StartsWith("custom op f: the source must be one function of plain types"),
                    HasSubstr("'float* a' is not a type and a name")));
  EXPECT_THAT(message("return a;", {x}), HasSubstr("no parameters in parentheses"));
}

TEST(CustomOp, CompileErrorsPointIntoTheUsersSource) {
  Graph graph("broken");
  const Tensor x = graph.input("x", f32, {3});
  graph.output(
      "y",
      custom_op("broken", "float broken(float a) {\n  const float b = a;\n  return c;\n}", {x}));
  const std::string message = error_of<CompileError>([&] { compile(graph, host_device()); });
  EXPECT_THAT(message, HasSubstr("custom op broken does not compile"));
  EXPECT_THAT(message, HasSubstr("   3 |   return c;"));
  EXPECT_THAT(message, HasSubstr("(custom op broken, line 3)"));
}

TEST(CustomOp, UnportableSourcesDoNotRunOnTheHost) {
  Graph graph("foreign");
  const Tensor x = graph.input("x", f32, {3});
  graph.output("y", custom_op("fast", "float fast(float a) { return __expf(a); }", {x}, {},
                              "model.cpp", 12));
  EXPECT_EQ(error_of([&] { compile(graph, host_device()); }),
            "custom op fast is not runnable on the host device: __expf is outside the portable "
            "subset, C++ and the C library functions that ops have (recorded at model.cpp:12)");
}

TEST(CustomOp, HostCompileErrorsMentionThePortableSubset) {
  Graph graph("foreign");
  const Tensor x = graph.input("x", f32, {3});
  graph.output("y", custom_op("turned", "float turned(float a) { return saturate_turn(a); }", {x}));
  EXPECT_THAT(error_of<CompileError>([&] { compile(graph, host_device()); }),
              AllOf(HasSubstr("custom op turned does not compile"),
                    HasSubstr("The host device runs the portable subset of custom ops")));
}

TEST(CustomOp, FindsUnportableWordsOnlyInCode) {
  for (const std::string_view word :
       {"blockDim", "gridDim", "warpSize", "threadIdx", "__ldg", "atomicAdd", "asm"})
    EXPECT_EQ(find_unportable_word("int f(int a) { return a + " + std::string(word) + "; }"), word);
  EXPECT_EQ(find_unportable_word("int f(int a) { /* asm */ return a + \"\\\"__ldg\"[0] + '\\''; }"),
            "");
  EXPECT_EQ(find_unportable_word("int f(int a) { return a + 1'000 + asm; } // '"), "asm");
}

TEST(CustomOp, MayBeginWithSpecifiersAndComments) {
  EXPECT_EQ(strip_specifiers("static inline float f(float inline_x) { static int i; }"),
            "              float f(float inline_x) { static int i; }");
  Graph graph("specifiers");
  const Tensor x = graph.input("x", f32, {5});
  const CustomOptions options = {.oracle = [](std::span<const long double> v) { return 2 * v[0]; }};
  const Tensor a =
      custom_op("a", "// twice (a\ninline float a(float x) { return x + x; }", {x}, options);
  const Tensor b =
      custom_op("b", "static constexpr float b(const float x) { return x + x; }", {a}, options);
  graph.output("y", b);
  run_and_check(graph);
}

TEST(CustomOp, OptionsApplyToEveryCallOfASource) {
  Graph graph("options");
  const Tensor x = graph.input("x", f32, {3});
  const auto call = [&](CustomOptions options, int line) {
    return error_of([&] { custom_op("s", kScaled, {x, 2.0}, std::move(options), "m.cpp", line); });
  };
  constexpr const char* kNothing = "(nothing thrown)";
  EXPECT_EQ(call({}, 1), kNothing);
  EXPECT_EQ(call(scaled_options(), 2), kNothing);
  EXPECT_EQ(call(scaled_options(), 3), kNothing);
  EXPECT_EQ(call({}, 4), kNothing);
  EXPECT_EQ(
      call({.ulp = 2}, 5),
      "custom op s: the options (ulp 2, no oracle, no vjp) differ from those (ulp 0, an oracle, "
      "a vjp) that custom op s at m.cpp:2 gave for the same source; give the same functions "
      "and ulp every time, or omit them here (recorded at m.cpp:5)");
  EXPECT_THAT(call({.oracle = [](std::span<const long double> v) { return v[0]; }}, 6),
              HasSubstr("differ from those"));
  EXPECT_EQ(call({.vjp = scaled_options().vjp}, 7), kNothing);
}

}  // namespace
}  // namespace sinter::test::custom_op_test
