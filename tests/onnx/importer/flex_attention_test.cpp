// FlexAttention: its functions on scores and probabilities must keep the type.
#include "tests/onnx/models/run_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::flex_attention_test {
namespace {

using onnx::ElementType;
using onnx::GraphProto;
using testing::HasSubstr;

GraphProto modifier(std::string_view type, std::vector<onnx::AttributeProto> attributes = {}) {
  GraphProto graph;
  graph.name = "modifier";
  graph.input = {value_info("in", ElementType::f32, {"b", "h", "q", "k"})};
  graph.node = {node(type, {"in"}, {"out"}, std::move(attributes))};
  graph.output = {value_info("out", ElementType::f32, {"b", "h", "q", "k"})};
  return graph;
}

ModelBuilder attention(std::vector<onnx::AttributeProto> attributes, int shared_heads = 2) {
  onnx::NodeProto call = node("FlexAttention", {"q", "k", "v"}, {"y"}, std::move(attributes));
  call.domain = "ai.onnx.preview";
  ModelBuilder builder;
  builder.input("q", {1, 4, "queries", 2}, ElementType::f16)
      .input("k", {1, shared_heads, "keys", 2}, ElementType::f16)
      .input("v", {1, shared_heads, "keys", 3}, ElementType::f16)
      .add(std::move(call))
      .output("y")
      .opset(26)
      .opset(1, "ai.onnx.preview");
  return builder;
}

/// With probabilities of 0, the result is 0.
TEST(OnnxFlexAttention, AppliesFunctions) {
  GraphProto zero = modifier("Sub");
  zero.node[0].input = {"in", "in"};
  const HostArray y = outputs_of(attention({graph_attribute("prob_mod", zero)}),
                                 {{"q", real_array(f16, {1, 4, 1, 2}, std::vector<double>(8, 1))},
                                  {"k", real_array(f16, {1, 2, 5, 2}, std::vector<double>(20, 1))},
                                  {"v", real_array(f16, {1, 2, 5, 3}, std::vector<double>(30, 1))}})
                          .at("y");
  EXPECT_EQ(y.dtype(), f16);
  EXPECT_EQ(reals_of(y), std::vector<double>(12, 0));
}

TEST(OnnxFlexAttention, FunctionsKeepTheType) {
  EXPECT_THAT(
      attention({graph_attribute("score_mod", modifier("Cast", {integer_attribute("to", 10)}))})
          .error(),
      HasSubstr("score_mod makes f16[1, 4, queries, keys] from f32[1, 4, queries, keys]; "
                "it must keep the type"));
  GraphProto two = modifier("Neg");
  two.output.push_back(two.output[0]);
  EXPECT_THAT(attention({graph_attribute("prob_mod", two)}).error(),
              HasSubstr("prob_mod has 2 outputs; it must have one"));
}

TEST(OnnxFlexAttention, ProblemsInFunctionsAreNamed) {
  EXPECT_THAT(attention({graph_attribute("score_mod", modifier("NoSuchOperator"))}).error(),
              HasSubstr("node 0 (ai.onnx.NoSuchOperator) in score_mod of a FlexAttention: "));
}

TEST(OnnxFlexAttention, HeadsMustDivide) {
  EXPECT_THAT(attention({}, 3).error(), HasSubstr("4 heads cannot share 3 heads of keys"));
}

}  // namespace
}  // namespace sinter::test::flex_attention_test
