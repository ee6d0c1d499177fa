// The results of an import: names, weights, dimensions, functions and branches.
#include "tools/onnx/import.h"

#include "sinter/text.h"
#include "tests/onnx/models/model_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::import_test {
namespace {

using onnx::ElementType;
using testing::HasSubstr;

TEST(OnnxImport, KeepsNamesAndOrder) {
  ModelBuilder builder;
  builder.input("b", {2})
      .input("a", {2})
      .add("Mul", {"b", "a"}, {"product"})
      .add("Exp", {"product"}, {"second"})
      .add("Neg", {"product"}, {"first"})
      .output("first")
      .output("second");
  EXPECT_EQ(builder.text(),
            "graph test(b: f32[2], a: f32[2]) {\n"
            "  product = mul b, a\n"
            "  second = exp product\n"
            "  first = neg product\n"
            "  return first, second\n"
            "}\n");
}

TEST(OnnxImport, MakesNamesLegalAndUnique) {
  ModelBuilder builder;
  builder.input("x.1", {2})
      .input("x/1", {2})
      .add("Add", {"x.1", "x/1"}, {"return"})
      .output("return");
  const onnx::ImportedModel model = builder.import();
  EXPECT_EQ(print(model.graph),
            "graph test(x_1: f32[2], x_1_2: f32[2]) {\n"
            "  return_ = add x_1, x_1_2\n"
            "  return return_\n"
            "}\n");
  ASSERT_EQ(model.renamed.size(), 3U);
  EXPECT_EQ(model.renamed[1].in_model, "x.1");
  EXPECT_EQ(model.renamed[1].in_text, "x_1");
}

TEST(OnnxImport, InputsAreOutputsToo) {
  ModelBuilder builder;
  builder.input("x", {2}).add("Identity", {"x"}, {"y"}).output("x").output("y");
  EXPECT_EQ(builder.text(),
            "graph test(x: f32[2]) {\n"
            "  return x, y = x\n"
            "}\n");
}

TEST(OnnxImport, ConstantsOfOneElementBecomeNumbers) {
  ModelBuilder builder;
  builder.input("x", {2, 2})
      .initializer(real_tensor("half", {1, 1}, {0.5F}))
      .add("Mul", {"x", "half"}, {"y"})
      .output("y");
  EXPECT_THAT(builder.text(), HasSubstr("y = mul x, 0.5\n"));
}

TEST(OnnxImport, OtherConstantsBecomeWeights) {
  ModelBuilder builder;
  builder.input("x", {2})
      .initializer(real_tensor("w", {2}, {3, 4}))
      .initializer(real_tensor("unused", {2}, {3, 4}))
      .add("Mul", {"x", "w"}, {"y"})
      .output("y");
  const onnx::ImportedModel model = builder.import();
  EXPECT_THAT(print(model.graph), HasSubstr("graph test(x: f32[2], w: f32[2])"));
  ASSERT_EQ(model.weights.size(), 1U);
  EXPECT_EQ(model.weights[0].name, "w");
  EXPECT_EQ(model.weights[0].array->real_at(1), 4);
}

TEST(OnnxImport, ADefaultOfAnInputIsAWeight) {
  ModelBuilder builder;
  builder.input("x", {2})
      .input("scale", {1})
      .initializer(real_tensor("scale", {1}, {3}))
      .add("Mul", {"x", "scale"}, {"y"})
      .output("y");
  EXPECT_THAT(builder.text(), HasSubstr("graph test(x: f32[2], scale: f32[1])"));
  builder.model.ir_version = 3;  // all initialisers are inputs
  EXPECT_THAT(builder.text(), HasSubstr("y = mul x, 3.0\n"));
}

TEST(OnnxImport, DimensionsAreSymbols) {
  ModelBuilder builder;
  builder.input("x", {"batch size", "", 3})
      .input("y", {"batch size", "", 3}, ElementType::f16)
      .add("Neg", {"x"}, {"z"})
      .output("z");
  EXPECT_THAT(
      builder.text(),
      HasSubstr("graph test(x: f32[batch_size, x_dim1, 3], y: f16[batch_size, y_dim1, 3])"));
  EXPECT_THAT(builder.text({.dims = {{"batch size", 8}, {"x_dim1", 5}}}),
              HasSubstr("graph test(x: f32[8, 5, 3], y: f16[8, y_dim1, 3])"));
  EXPECT_EQ(builder.error({.dims = {{"rows", 8}}}),
            "--dim rows=8: the model has the dimensions batch_size, x_dim1, y_dim1");
}

onnx::FunctionProto scale_function() {
  onnx::FunctionProto function;
  function.name = "Scale";
  function.domain = "my";
  function.input = {"x", "bias"};
  function.output = {"y"};
  function.attribute = {"factor"};
  function.node.push_back(node("Constant", {}, {"k"}, {outer_attribute("value_float", "factor")}));
  function.node.push_back(node("Mul", {"x", "k"}, {"y"}));
  onnx::OperatorSetIdProto opset;
  opset.version = 17;
  function.opset_import.push_back(opset);
  return function;
}

onnx::NodeProto call_of_scale(std::string_view input, std::string_view output, float factor) {
  onnx::NodeProto call = node("Scale", {input}, {output}, {real_attribute("factor", factor)});
  call.domain = "my";
  return call;
}

TEST(OnnxImport, FunctionsAreInlined) {
  ModelBuilder builder;
  builder.input("x", {2})
      .add(call_of_scale("x", "a", 2))
      .add(call_of_scale("a", "b", 3))
      .output("b")
      .opset(1, "my");
  builder.model.functions.push_back(scale_function());
  EXPECT_EQ(builder.text(),
            "graph test(x: f32[2]) {\n"
            "  y = mul x, 2.0\n"
            "  y_2 = mul y, 3.0\n"
            "  return b = y_2\n"
            "}\n");
}

TEST(OnnxImport, AFunctionThatCallsItselfIsAnError) {
  ModelBuilder builder;
  builder.input("x", {2}).add(call_of_scale("x", "y", 2)).output("y").opset(1, "my");
  onnx::FunctionProto function = scale_function();
  function.node.push_back(call_of_scale("y", "z", 2));
  builder.model.functions.push_back(function);
  EXPECT_THAT(builder.error(), HasSubstr("nested more than 32 deep, or call themselves"));
}

onnx::GraphProto branch(const char* type) {
  onnx::GraphProto graph;
  graph.node.push_back(node(type, {"x"}, {"result"}));
  graph.output.emplace_back().name = "result";
  return graph;
}

ModelBuilder if_model() {
  ModelBuilder builder;
  builder.input("x", {2})
      .add(node("If", {"condition"}, {"y"},
                {graph_attribute("then_branch", branch("Exp")),
                 graph_attribute("else_branch", branch("Neg"))}))
      .output("y");
  return builder;
}

TEST(OnnxImport, AConstantConditionSelectsABranch) {
  ModelBuilder builder = if_model();
  onnx::TensorProto condition;
  condition.name = "condition";
  condition.data_type = static_cast<std::int32_t>(ElementType::boolean);
  condition.raw_data = std::string_view("\0", 1);
  builder.initializer(condition);
  EXPECT_THAT(builder.text(), HasSubstr("= neg x\n"));
  EXPECT_THAT(builder.text(), testing::Not(HasSubstr("exp")));
}

TEST(OnnxImport, AConditionAtRunTimeSelectsResults) {
  ModelBuilder builder = if_model();
  builder.input("condition", {}, ElementType::boolean);
  EXPECT_EQ(builder.text(),
            "graph test(x: f32[2], condition: bool[]) {\n"
            "  result = exp x\n"
            "  result_2 = neg x\n"
            "  y = where condition, result, result_2\n"
            "  return y\n"
            "}\n");
}

}  // namespace
}  // namespace sinter::test::import_test
