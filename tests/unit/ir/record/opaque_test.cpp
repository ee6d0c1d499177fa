// Opaque calls: recording, verification, registered functions and the oracle. The tests of plans
// are in compiler/schedule/opaque_calls_test.cpp.
#include "ir/record/opaque.h"
#include "ir/graph/opaque_node.h"

#include "ir/oracle/interpret.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "sinter/gradient.h"
#include "sinter/ops.h"
#include "sinter/text.h"
#include "tests/support/doubles/opaque.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/oracle_support.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::opaque_test {
namespace {

using test::error_of;
using test::Registered;
using testing::ElementsAre;
using testing::HasSubstr;

class OpaqueTest : public testing::Test {
 protected:
  Graph graph{"g"};
  Extent rows = graph.extent("rows");
  Tensor x = graph.input("x", f32, {rows, 8});
  Tensor w = graph.input("w", f32, {8, 16});
};

TEST_F(OpaqueTest, HasTheDeclaredTypes) {
  const Tensor y = opaque("gemm", {x, w}, {.dtype = bf16, .shape = {rows, 16}}, {}, "m.cpp", 7);
  EXPECT_EQ(type_text(*y.node()), "bf16[rows, 16]");
  EXPECT_EQ(graph.data().location_text(y.node()), "m.cpp:7");
  const std::vector<Tensor> both = opaque_results(
      "topk", {x}, {{.dtype = f32, .shape = {rows, 2}}, {.dtype = i64, .shape = {rows, 2}}});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(type_text(*both[1].node()), "i64[rows, 2]");
  verify(graph);
}

TEST_F(OpaqueTest, EqualCallsAreOneNode) {
  const OpaqueType type{.dtype = f32, .shape = {rows, 16}};
  const auto call = [&](const std::vector<OpaqueAttribute>& attributes) {
    return opaque("gemm", {x, w}, type, attributes).node();
  };
  EXPECT_EQ(call({{"alpha", 0.5}, {"mode", "fast"}}), call({{"mode", "fast"}, {"alpha", 0.5}}));
  EXPECT_NE(call({{"alpha", 0.5}}), call({{"alpha", 0.25}}));
  EXPECT_NE(call({{"alpha", 1}}), call({{"alpha", 1.0}}));
  EXPECT_NE(call({{"alpha", "1"}}), call({{"alpha", 1}}));
  EXPECT_NE(call({}), opaque("other", {x, w}, type).node());
  EXPECT_NE(call({}), opaque("gemm", {x, w}, {.dtype = f16, .shape = {rows, 16}}).node());
}

TEST_F(OpaqueTest, FindsAllResultsOfACall) {
  const auto call = [&](int k) {
    return opaque_results("topk", {x}, {{.shape = {rows}}, {.dtype = i32, .shape = {rows}}},
                          {{"k", k}});
  };
  const std::vector<Tensor> two = call(2);
  const std::vector<Tensor> three = call(3);
  EXPECT_TRUE(is_same_call(*two[0].node(), *two[1].node()));
  EXPECT_FALSE(is_same_call(*two[0].node(), *three[1].node()));
  EXPECT_THAT(results_of_call(graph.data(), *two[1].node()),
              ElementsAre(two[0].node(), two[1].node()));
}

TEST_F(OpaqueTest, AttributesRoundTrip) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor y = opaque("f", {x}, {},
                          {{"b", true},
                           {"least", std::numeric_limits<std::int64_t>::min()},
                           {"most", std::numeric_limits<std::uint64_t>::max()},
                           {"negative", -0.1},
                           {"huge", -inf},
                           {"none", std::nan("")},
                           {"text", "a \"b\"\\\n, c = 1"}});
  const std::vector<OpaqueAttribute> options = options_of(*y.node());
  const OpaqueSizes sizes{.function = "f", .inputs = {}, .outputs = {}, .attributes = options};
  EXPECT_EQ(sizes.number("b"), 1);
  EXPECT_EQ(sizes.number("least"), -0x1p63);
  EXPECT_EQ(sizes.number("most"), 0x1p64);
  EXPECT_EQ(sizes.number("negative"), -0.1);
  EXPECT_EQ(sizes.number("huge"), -inf);
  EXPECT_TRUE(std::isnan(sizes.number("none")));
  EXPECT_EQ(sizes.text("text"), "a \"b\"\\\n, c = 1");
  EXPECT_EQ(sizes.number("absent", 3), 3);
  EXPECT_EQ(sizes.text("absent", "no"), "no");
  EXPECT_EQ(error_of([&] { (void)sizes.number("absent"); }),
            "the call has no attribute absent; give it one");
  EXPECT_EQ(error_of([&] { (void)sizes.number("text"); }),
            "attribute text is a text, expected a number");
  EXPECT_EQ(options_text(options_of(*y.node())), attribute(*y.node(), "options").text);
}

TEST_F(OpaqueTest, RejectsInvalidCalls) {
  const auto message = [&](std::string_view function, std::initializer_list<Operand> operands,
                           const std::vector<OpaqueAttribute>& attributes = {},
                           OpaqueType type = {.dtype = f32, .shape = {4}}) {
    return error_of([&] { opaque(function, operands, type, attributes, "m.cpp", 7); });
  };
  EXPECT_EQ(message("gemm", {x, 2.0}),
            "opaque gemm: operand 2 is a number; make it an attribute, or record it with full "
            "(recorded at m.cpp:7)");
  EXPECT_EQ(message("gemm", {}),
            "opaque gemm: it has no operand; give it at least one Tensor (recorded at m.cpp:7)");
  EXPECT_EQ(message("my gemm", {x}),
            "opaque my gemm: this is not a function name; use letters, digits and _ (recorded "
            "at m.cpp:7)");
  EXPECT_EQ(message("gemm", {x}, {{"a b", 1}}),
            "opaque gemm: \"a b\" is not an attribute name; use letters, digits and _ (recorded "
            "at m.cpp:7)");
  EXPECT_EQ(message("gemm", {x}, {{"a", 1}, {"a", "x"}}),
            "opaque gemm: attribute a is given twice (recorded at m.cpp:7)");
  EXPECT_EQ(message("gemm", {x}, {}, {.shape = {4, -1}}),
            "opaque gemm: [4, -1] has a negative extent (recorded at m.cpp:7)");
  EXPECT_EQ(error_of([&] { opaque_results("f", {x}, {}, {}, "m.cpp", 7); }),
            "opaque f: it has no result; give it at least one result type (recorded at m.cpp:7)");
  const Operand operands[] = {x};
  EXPECT_EQ(
      error_of([&] { opaque_results("f", operands, std::vector<OpaqueType>(65), {}, "m.cpp", 7); }),
      "opaque f: it has 65 results, more than 64; combine several results in one array "
      "(recorded at m.cpp:7)");
  Graph other("other");
  const Tensor foreign = other.input("foreign", f32, {8});
  EXPECT_THAT(message("gemm", {x, foreign}), HasSubstr("belong to two graphs, g and other"));
}

TEST_F(OpaqueTest, HasNoGradient) {
  const Tensor y = opaque("gemm", {x, w}, {.shape = {rows, 16}}, {}, "m.cpp", 7);
  EXPECT_THAT(error_of([&] { gradient(sum(y), {x}); }),
              HasSubstr("opaque at m.cpp:7 has no gradient"));
}

TEST_F(OpaqueTest, VerifyFindsBrokenNodes) {
  const Node* y = opaque("gemm", {x, w}, {.shape = {rows, 16}}).node();
  const auto verdict = [&](std::size_t attribute, auto change, DType dtype = f32) {
    Graph broken("broken");
    const Tensor input = broken.input("x", f32, {broken.extent("rows"), 8});
    std::vector<Attribute> attributes(y->attributes.begin(), y->attributes.end());
    const std::vector<Extent> shape = {broken.extent("rows"), 16};
    attributes[5].extents = shape;
    change(attributes[attribute]);
    const Node* operand = input.node();
    broken.data().make({.op = Op::opaque,
                        .dtype = dtype,
                        .operands = {&operand, 1},
                        .shape = shape,
                        .attributes = attributes},
                       {"m.cpp", 7});
    return error_of<InternalError>([&] { verify(broken); });
  };
  const auto nothing = [](Attribute&) {};
  EXPECT_EQ(verdict(0, nothing), "(nothing thrown)");
  EXPECT_THAT(verdict(0, nothing, bf16), HasSubstr("the dtype is bf16, expected f32"));
  EXPECT_THAT(verdict(0, [](Attribute& a) { a.text = {}; }), HasSubstr("has no name"));
  EXPECT_THAT(verdict(2, [](Attribute& a) { a.integer = 1; }), HasSubstr("the result is 1 of 1"));
  const std::int64_t many[] = {999};
  EXPECT_THAT(verdict(3, [&](Attribute& a) { a.integers = many; }), HasSubstr("has no dtype"));
  EXPECT_THAT(verdict(4, [&](Attribute& a) { a.integers = many; }), HasSubstr("has rank 999"));
  EXPECT_THAT(verdict(5, [](Attribute& a) { a.extents = a.extents.first(1); }),
              HasSubstr("the number of extents is 1, expected 2"));
}

TEST_F(OpaqueTest, RegistersFunctionsOnce) {
  EXPECT_EQ(
      error_of([] { register_opaque("f g", {}); }),
      "register_opaque: \"f g\" is not a name that graphs can call; use letters, digits and _");
  EXPECT_EQ(error_of([] { register_opaque("f", {}); }),
            "register_opaque f: enqueue, which puts a call on its stream, is missing; give it one");
  const Registered once("once", {});
  EXPECT_EQ(error_of([] { register_opaque("once", {.enqueue = [](const auto&) { return 0; }}); }),
            "register_opaque once: a function of this name is already registered; use another "
            "name, or unregister that function first");
  EXPECT_NE(find_opaque("once"), nullptr);
  EXPECT_EQ(find_opaque("never"), nullptr);
  EXPECT_FALSE(unregister_opaque("never"));
}

TEST(OpaqueOracle, NeedsARegisteredFunction) {
  const Graph graph =
      parse("graph g(x: f32[2]) {\n  y = opaque absent x : f32[2]\n  return y\n}\n", "m.sinter");
  const HostArrays inputs = {{"x", array(f32, {2}, std::vector<double>{1, 2})}};
  const Registered known("known", {});
  EXPECT_EQ(error_of([&] { interpret(graph, inputs, {}); }),
            "opaque absent: no function of this name is registered in this process, only known; "
            "call register_opaque(\"absent\", …) before the graph is compiled (recorded at "
            "m.sinter:2)");
}

/// Returns y = by * x, with `by` = 2 by default and doubled bounds, and 200 times the element
/// index.
void twice(const OpaqueReference& call) {
  const OpaqueValue& x = call.inputs[0];
  for (std::size_t i = 0; i < x.reals.size(); ++i) {
    call.outputs[0].reals[i] = call.sizes.number("by", 2) * x.reals[i];
    call.outputs[0].bounds[i] = 2 * x.bounds[i];
    call.outputs[1].integers[i] = static_cast<std::int64_t>(i) * 200;
    call.outputs[1].bounds[i] = 0;
  }
}

TEST(OpaqueOracle, ReturnsTheResultsOfTheReference) {
  const Registered function("twice", {.enqueue = {}, .reference = twice});
  const Graph graph = parse(
      "graph g(x: f32[3]) {\n"
      "  e = exp x\n"
      "  y, i = opaque twice e : f32[3], i8[3]\n"
      "  b, _ = opaque twice e : bf16[3], i8[3]\n"
      "  z, _ = opaque twice x {by = 3} : f32[3], i8[3]\n"
      "  return y, i, z, b\n}\n");
  const HostArrays inputs = {{"x", array(f32, {3}, std::vector<double>{0, 1, 2})}};
  const Interpretation result = interpret(graph, inputs, {});
  const Expected& y = result.outputs.at("y");
  EXPECT_EQ(y.reals[0], 2);
  EXPECT_EQ(y.reals[1], 2 * static_cast<double>(static_cast<float>(std::exp(1.0))));
  EXPECT_GT(y.bound(1), 0);  // propagated from exp
  EXPECT_LT(y.bound(1), 1e-5);
  EXPECT_EQ(result.outputs.at("b").reals[1], 5.4375);                       // 2 e, rounded to bf16
  EXPECT_THAT(result.outputs.at("i").integers, ElementsAre(0, -56, -112));  // wrapped to i8
  EXPECT_THAT(result.outputs.at("z").reals, ElementsAre(0, 3, 6));
  EXPECT_TRUE(result.outputs.at("z").bounds.empty());
}

TEST(OpaqueOracle, IsUndecidedWithoutAReference) {
  const Registered blind("blind", {});
  const Registered quiet("quiet", {.enqueue = {}, .reference = [](const OpaqueReference&) {}});
  const Registered odd("odd", {.enqueue = {}, .reference = [](const OpaqueReference& call) {
                                 call.outputs[0].bounds[0] = std::nan("");
                               }});
  const Graph graph = parse(
      "graph g(x: f32[1]) {\n"
      "  a = opaque blind x : f32[1]\n"
      "  b = opaque quiet x : f32[1]\n"
      "  e = exp x\n"
      "  c = opaque quiet e : f32[1]\n"
      "  d = opaque odd x : f32[1]\n"
      "  return a, b, c, d\n}\n");
  const HostArrays inputs = {{"x", array(f32, {1}, std::vector<double>{1})}};
  const Interpretation result = interpret(graph, inputs, {});
  EXPECT_TRUE(result.outputs.at("a").is_undecided(0));
  EXPECT_FALSE(result.outputs.at("b").is_undecided(0));
  EXPECT_TRUE(result.outputs.at("c").is_undecided(0));  // its operand is inexact
  EXPECT_TRUE(result.outputs.at("d").is_undecided(0));
}

TEST(OpaqueOracle, ReportsAFailingReference) {
  const Registered failing("failing", {.enqueue = {}, .reference = [](const OpaqueReference& call) {
                                         (void)call.sizes.number("alpha");
                                       }});
  const Graph graph =
      parse("graph g(x: f32[2]) {\n  y = opaque failing x : f32[2]\n  return y\n}\n", "m.sinter");
  const HostArrays inputs = {{"x", array(f32, {2}, std::vector<double>{1, 2})}};
  EXPECT_EQ(error_of([&] { interpret(graph, inputs, {}); }),
            "opaque failing: its reference fails: the call has no attribute alpha; give it one "
            "(recorded at m.sinter:2)");
}

}  // namespace
}  // namespace sinter::opaque_test
