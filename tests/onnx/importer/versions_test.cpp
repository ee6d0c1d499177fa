// Operators whose meaning depends on the version of the operator set.
#include "tests/onnx/models/model_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::versions_test {
namespace {

using onnx::ElementType;
using testing::HasSubstr;

/// Without axes the reduction does nothing, but the steps around it remain.
TEST(OnnxVersions, ReductionsWithoutAxesKeepTheirOtherSteps) {
  const auto text_of = [](std::string_view type) {
    ModelBuilder builder;
    builder.input("x", {2, 3})
        .add(node(type, {"x"}, {"y"}, {integer_attribute("noop_with_empty_axes", 1)}))
        .output("y")
        .opset(18);
    return builder.text();
  };
  EXPECT_THAT(text_of("ReduceL1"), HasSubstr("y = abs x\n"));
  EXPECT_THAT(text_of("ReduceLogSum"), HasSubstr("y = log x\n"));
  EXPECT_THAT(text_of("ReduceSum"), HasSubstr("return y = x\n"));
  EXPECT_THAT(text_of("ReduceLogSumExp"), HasSubstr("return y = x\n"));
}

TEST(OnnxVersions, BatchNormalizationOfOldVersionsMayNameItsDefault) {
  const auto model = [](std::int64_t spatial) {
    ModelBuilder builder;
    builder.input("x", {1, 2, 3})
        .input("s", {2})
        .add(node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"},
                  {integer_attribute("spatial", spatial)}))
        .output("y")
        .opset(8);
    return builder;
  };
  EXPECT_EQ(model(1).error(), "");
  EXPECT_THAT(model(0).error(), HasSubstr("spatial is 0: its statistics are not per channel"));
  EXPECT_THAT(model(1).opset(9).error(), HasSubstr("attribute spatial is not supported"));
}

/// The mask is of the dtype of the input before opset 10.
TEST(OnnxVersions, MasksOfDropout) {
  const auto text_of = [](std::int64_t version) {
    ModelBuilder builder;
    builder.input("x", {2}).add("Dropout", {"x"}, {"y", "mask"}).output("mask").opset(version);
    return builder.text();
  };
  EXPECT_THAT(text_of(9), HasSubstr("dtype = f32"));
  EXPECT_THAT(text_of(10), HasSubstr("dtype = bool"));
  ModelBuilder test;
  test.input("x", {2})
      .add(node("Dropout", {"x"}, {"y"}, {integer_attribute("is_test", 1)}))
      .output("y")
      .opset(6);
  EXPECT_EQ(test.error(), "");
}

/// The attribute `axis` aligns the second operand, also for integers and for constants.
TEST(OnnxVersions, QuotientsOfVersion6BroadcastAlongAnAxis) {
  ModelBuilder builder;
  builder.input("x", {2, 2}, ElementType::i32)
      .input("z", {2}, ElementType::i32)
      .add(node("Div", {"x", "z"}, {"y"},
                {integer_attribute("broadcast", 1), integer_attribute("axis", 0)}))
      .output("y")
      .opset(6);
  EXPECT_THAT(builder.text(), HasSubstr("reshape z {shape = [2, 1]}"));
  ModelBuilder constants;
  constants.initializer(integer_tensor("a", {2, 2}, {1, 2, 3, 4}))
      .initializer(integer_tensor("b", {2}, {10, 20}))
      .add(node("Add", {"a", "b"}, {"y"},
                {integer_attribute("broadcast", 1), integer_attribute("axis", 0)}))
      .output("y")
      .opset(6);
  EXPECT_THAT(constants.text(), HasSubstr("reshape b {shape = [2, 1]}"));
}

TEST(OnnxVersions, ConstantsInTheWrongNumberAreErrors) {
  ModelBuilder builder;
  builder.initializer(integer_tensor("a", {2}, {1, 2})).add("Add", {"a"}, {"y"}).output("y");
  EXPECT_THAT(builder.error(), HasSubstr("it has 1 inputs; the op takes 2"));
}

/// A negative step begins at element 0 at the earliest.
TEST(OnnxVersions, SlicesBackwardsFromBeforeTheBegin) {
  ModelBuilder builder;
  builder.input("x", {5})
      .initializer(integer_tensor("start", {1}, {-10}))
      .initializer(integer_tensor("end", {1}, {-20}))
      .initializer(integer_tensor("axis", {1}, {0}))
      .initializer(integer_tensor("step", {1}, {-1}))
      .add("Slice", {"x", "start", "end", "axis", "step"}, {"y"})
      .output("y");
  EXPECT_THAT(builder.text(), HasSubstr("end = 1"));
}

TEST(OnnxVersions, QuantisedFactorsAreBytes) {
  ModelBuilder builder;
  builder.input("a", {2, 2}, ElementType::i32)
      .input("b", {2, 2}, ElementType::u8)
      .add("MatMulInteger", {"a", "b"}, {"y"})
      .output("y");
  EXPECT_THAT(builder.error(), HasSubstr("an operand is i32[2, 2]; it must be i8 or u8"));
}

/// Models and functions have versions of their own.
TEST(OnnxVersions, FunctionsOfUnknownVersions) {
  ModelBuilder builder;
  onnx::FunctionProto function;
  function.name = "Same";
  function.domain = "my";
  function.input = {"x"};
  function.output = {"y"};
  function.node.push_back(node("Neg", {"x"}, {"y"}));
  function.opset_import.emplace_back().version = 29;
  builder.model.functions.push_back(function);
  onnx::NodeProto call = node("Same", {"x"}, {"y"});
  call.domain = "my";
  builder.input("x", {2}).add(call).output("y").opset(1, "my");
  EXPECT_THAT(builder.error(), HasSubstr("(my.Same): it uses version 29 of the ONNX operators"));
}

/// Before opset 6, nodes have hints without effect, and some parameters are attributes.
TEST(OnnxVersions, ModelsOfVersion1) {
  ModelBuilder hints;
  hints.input("x", {2})
      .add(node("Neg", {"x"}, {"y"}, {integers_attribute("consumed_inputs", {0})}))
      .output("y")
      .opset(1);
  EXPECT_EQ(hints.error(), "");
  EXPECT_THAT(hints.opset(6).error(), HasSubstr("attribute consumed_inputs is not supported"));
  ModelBuilder views;
  views.input("x", {2, 6})
      .add(node("Reshape", {"x"}, {"r"}, {integers_attribute("shape", {0, 2, -1})}))
      .add("Concat", {"r", "r"}, {"y"})
      .output("y")
      .opset(1);
  EXPECT_THAT(views.text(), HasSubstr("reshape x {shape = [2, 2, 3]}"));
  EXPECT_THAT(views.text(), HasSubstr("concat r, r {axis = 1}"));
  EXPECT_THAT(views.opset(4).error(), HasSubstr("attribute axis is missing"));
  EXPECT_THAT(views.opset(5).error(), HasSubstr("input 1 is missing"));
  ModelBuilder selu;
  selu.input("x", {2}).add("Selu", {"x"}, {"y"}).output("y").opset(1);
  EXPECT_THAT(selu.text(), HasSubstr("1.0507\n"));
  EXPECT_THAT(selu.opset(6).text(), HasSubstr("1.050701\n"));
}

}  // namespace
}  // namespace sinter::test::versions_test
