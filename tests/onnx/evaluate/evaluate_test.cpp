// Shapes that a model computes are evaluated at import, also if they depend on symbols.
#include "tools/onnx/evaluate/evaluate.h"

#include "tests/onnx/models/model_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::evaluate_test {
namespace {

using testing::HasSubstr;

/// Reshapes x [batch, 6] to a computed shape.
ModelBuilder reshape_model() {
  ModelBuilder builder;
  builder.input("x", {"batch", 6}).output("y");
  return builder;
}

TEST(OnnxEvaluate, ShapeGatherAndConcat) {
  ModelBuilder builder = reshape_model();
  builder.initializer(integer_tensor("zero", {}, {0}))
      .initializer(integer_tensor("rest", {2}, {2, 3}))
      .initializer(integer_tensor("axes", {1}, {0}))
      .add("Shape", {"x"}, {"shape"})
      .add("Gather", {"shape", "zero"}, {"batch"})
      .add("Unsqueeze", {"batch", "axes"}, {"batches"})
      .add(node("Concat", {"batches", "rest"}, {"target"}, {integer_attribute("axis", 0)}))
      .add("Reshape", {"x", "target"}, {"y"});
  EXPECT_EQ(builder.text(),
            "graph test(x: f32[batch, 6]) {\n"
            "  y = reshape x {shape = [batch, 2, 3]}\n"
            "  return y\n"
            "}\n");
}

TEST(OnnxEvaluate, ArithmeticOnExtents) {
  ModelBuilder builder = reshape_model();
  builder.initializer(integer_tensor("one", {1}, {1}))
      .initializer(integer_tensor("two", {1}, {2}))
      .initializer(integer_tensor("three", {1}, {3}))
      .add(node("Shape", {"x"}, {"batch"}, {integer_attribute("end", 1)}))
      .add("Mul", {"batch", "two"}, {"twice"})
      .add(node("Concat", {"twice", "three"}, {"target"}, {integer_attribute("axis", 0)}))
      .add("Reshape", {"x", "target"}, {"y"});
  EXPECT_THAT(builder.text(), HasSubstr("y = reshape x {shape = [batch * 2, 3]}"));
}

TEST(OnnxEvaluate, AQuotientOfSizesIsTheFloor) {
  ModelBuilder builder;
  builder.input("x", {"n"})
      .output("y")
      .initializer(integer_tensor("zero", {1}, {0}))
      .initializer(integer_tensor("two", {1}, {2}))
      .add("Shape", {"x"}, {"n"})
      .add("Div", {"n", "two"}, {"half"})
      .add("Slice", {"x", "zero", "half"}, {"y"});
  EXPECT_THAT(builder.text(), HasSubstr("end = floor_div(n, 2)"));
}

/// The pattern of Expand in exported models: −1 keeps the extent.
TEST(OnnxEvaluate, WhereAndEqualOfSizes) {
  ModelBuilder builder;
  builder.input("x", {"batch", 1})
      .output("y")
      .initializer(integer_tensor("minus", {}, {-1}))
      .initializer(integer_tensor("ones", {2}, {1, 1}))
      .initializer(integer_tensor("four", {1}, {4}))
      .add(node("Shape", {"x"}, {"batch"}, {integer_attribute("end", 1)}))
      .add(node("Concat", {"batch", "four"}, {"shape"}, {integer_attribute("axis", 0)}))
      .add("Equal", {"shape", "minus"}, {"is_kept"})
      .add("Where", {"is_kept", "ones", "shape"}, {"target"})
      .add("Expand", {"x", "target"}, {"y"});
  EXPECT_THAT(builder.text(), HasSubstr("y = broadcast_to x {shape = [batch, 4]}"));
}

TEST(OnnxEvaluate, ScalesOfResizedImages) {
  ModelBuilder builder;
  builder.input("x", {1, 10})
      .output("y")
      .initializer(real_tensor("half", {}, {0.25F}))
      .add("Shape", {"x"}, {"shape"})
      .add(node("Cast", {"shape"}, {"real"}, {integer_attribute("to", 1)}))
      .add("Mul", {"real", "half"}, {"scaled"})
      .add("Ceil", {"scaled"}, {"whole"})
      .add(node("Cast", {"whole"}, {"ends"}, {integer_attribute("to", 7)}))
      .initializer(integer_tensor("zeros", {2}, {0, 0}))
      .add("Slice", {"x", "zeros", "ends"}, {"y"});
  EXPECT_THAT(builder.text(), HasSubstr("y = slice x {axis = 1, begin = 0, end = 3"));
}

TEST(OnnxEvaluate, RuntimeValuesAreRecordedInstead) {
  ModelBuilder builder;
  builder.input("x", {2}, onnx::ElementType::i64)
      .output("y")
      .initializer(integer_tensor("two", {2}, {2, 3}))
      .add("Add", {"x", "two"}, {"sum"})
      .add("Mul", {"sum", "x"}, {"y"});
  EXPECT_EQ(builder.text(),
            "graph test(x: i64[2], two: i64[2]) {\n"
            "  sum = add x, two\n"
            "  y = mul sum, x\n"
            "  return y\n"
            "}\n");
}

TEST(OnnxEvaluate, AnUnknownComparisonIsComputedAtRunTime) {
  ModelBuilder builder;
  builder.input("x", {"n"})
      .output("y")
      .initializer(integer_tensor("five", {1}, {5}))
      .add("Shape", {"x"}, {"n"})
      .add("Greater", {"n", "five"}, {"y"});
  const std::string text = builder.text();
  EXPECT_THAT(text, HasSubstr("size {extent = n, dtype = i64}"));
  EXPECT_THAT(text, HasSubstr("y = gt "));
}

TEST(OnnxEvaluate, OverflowIsAnErrorOrComputedAtRunTime) {
  ModelBuilder builder;
  constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max();
  builder.input("x", {1}, onnx::ElementType::i64)
      .output("y")
      .initializer(integer_tensor("large", {1}, {kLarge}))
      .add("Add", {"large", "large"}, {"sum"})
      .add("Add", {"x", "sum"}, {"y"});
  EXPECT_THAT(builder.error(), HasSubstr("64 bits"));
}

TEST(OnnxEvaluate, IndicesOutOfRangeAreErrors) {
  ModelBuilder builder = reshape_model();
  builder.initializer(integer_tensor("two", {}, {2}))
      .add("Shape", {"x"}, {"shape"})
      .add(node("Gather", {"shape", "two"}, {"y"}, {}, "pick"));
  EXPECT_THAT(
      builder.error(),
      HasSubstr("node 'pick' (ai.onnx.Gather): index 2 is out of range for axis 0 of extent 2"));
}

}  // namespace
}  // namespace sinter::test::evaluate_test
