// Models that cannot be imported: the errors name all nodes, and nothing crashes.
#include "tests/onnx/models/model_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::errors_test {
namespace {

using onnx::ElementType;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kOne = "the model cannot be imported, because of one problem:\n  ";

TEST(OnnxErrors, AllUnsupportedNodesAreListed) {
  ModelBuilder builder;
  onnx::NodeProto foreign = node("FusedGelu", {"a"}, {"b"}, {}, "gelu");
  foreign.domain = "com.microsoft";
  builder.input("x", {2})
      .add(node("NonMaxSuppression", {"x"}, {"a"}, {}, "find"))
      .add(foreign)
      .add("Unique", {"b"}, {"y"})
      .output("y");
  EXPECT_EQ(
      builder.error(),
      "the model cannot be imported, because of 3 problems:\n"
      "  node 'find' (ai.onnx.NonMaxSuppression): the shape of its result depends on values\n"
      "  node 'gelu' (com.microsoft.FusedGelu): operators of the domain com.microsoft are not "
      "supported\n"
      "  node 2 (ai.onnx.Unique): the shape of its result depends on values");
}

TEST(OnnxErrors, ReasonsOfOperators) {
  const auto error_of = [](std::string_view type) {
    ModelBuilder builder;
    builder.input("x", {2}).add(type, {"x"}, {"y"}).output("y");
    return builder.error();
  };
  EXPECT_THAT(error_of("SplitToSequence"), HasSubstr("sequences are not supported"));
  EXPECT_THAT(error_of("OptionalHasElement"), HasSubstr("optional values are not supported"));
  EXPECT_THAT(error_of("StringConcat"), HasSubstr("sinter has no dtype for texts"));
  EXPECT_THAT(error_of("ImageDecoder"), HasSubstr("sinter does not read files of images"));
  EXPECT_THAT(error_of("Relu6"), HasSubstr("sinter does not import this operator"));
}

TEST(OnnxErrors, AParameterThatIsComputedAtRunTime) {
  ModelBuilder builder;
  builder.input("x", {2, 3})
      .input("shape", {1}, ElementType::i64)
      .add("Reshape", {"x", "shape"}, {"y"})
      .output("y");
  EXPECT_EQ(
      builder.error(),
      std::string(kOne) +
          "node 0 (ai.onnx.Reshape): input 'shape' (shape) is computed at run time; it must be "
          "a constant, or follow from the shapes of inputs");
}

TEST(OnnxErrors, ShapesThatDoNotFitNameTheNode) {
  ModelBuilder builder;
  builder.input("x", {2, 3})
      .input("z", {2, 4})
      .add(node("Add", {"x", "z"}, {"y"}, {}, "join"))
      .output("y");
  EXPECT_EQ(builder.error(), std::string(kOne) +
                                 "node 'join' (ai.onnx.Add): add: [2, 3] and [2, 4] do not "
                                 "broadcast: axis 1 is 3 and 4");
}

TEST(OnnxErrors, DtypesMustBeEqual) {
  ModelBuilder builder;
  builder.input("x", {2})
      .input("z", {2}, ElementType::i64)
      .add("Add", {"x", "z"}, {"y"})
      .output("y");
  EXPECT_THAT(builder.error(),
              EndsWith("inputs 0 and 1 have the dtypes f32 and i64; they must be equal"));
}

TEST(OnnxErrors, MissingAndLaterInputs) {
  ModelBuilder builder;
  builder.input("x", {2}).add("Neg", {"later"}, {"a"}).add("Exp", {"a"}, {"later"}).output("later");
  EXPECT_THAT(
      builder.error(),
      EndsWith("node 0 (ai.onnx.Neg): it reads 'later', which this or a later node computes: "
               "the nodes are not in order, or form a cycle"));
  ModelBuilder missing;
  missing.add("Neg", {"none"}, {"y"}).output("y");
  EXPECT_THAT(missing.error(),
              EndsWith("node 0 (ai.onnx.Neg): it reads 'none', which nothing defines"));
  ModelBuilder few;
  few.input("x", {2}).add("Add", {"x"}, {"y"}).output("y");
  EXPECT_THAT(few.error(), EndsWith("node 0 (ai.onnx.Add): it has 1 inputs; the op takes 2"));
}

TEST(OnnxErrors, DuplicateNames) {
  ModelBuilder builder;
  builder.input("x", {2})
      .input("x", {3})
      .add("Neg", {"x"}, {"y"})
      .add("Exp", {"x"}, {"y"})
      .output("y");
  EXPECT_EQ(builder.error(),
            "the model cannot be imported, because of 2 problems:\n"
            "  input 'x': its name is already defined\n"
            "  node 1 (ai.onnx.Exp): its output 'y' is already defined");
}

TEST(OnnxErrors, AttributesOfAnotherKindOrUnknown) {
  ModelBuilder builder;
  builder.input("x", {2, 3})
      .add(node("Flatten", {"x"}, {"a"}, {real_attribute("axis", 1)}))
      .add(node("Relu", {"x"}, {"b"}, {real_attribute("alpha", 1)}))
      .add(node("Flatten", {"x"}, {"c"},
                {integer_attribute("axis", 1), integer_attribute("axis", 1)}))
      .add("Concat", {"x", "x"}, {"d"})
      .output("d");
  EXPECT_EQ(builder.error(),
            "the model cannot be imported, because of 4 problems:\n"
            "  node 0 (ai.onnx.Flatten): attribute axis is FLOAT, but the op takes INT\n"
            "  node 1 (ai.onnx.Relu): attribute alpha is not supported\n"
            "  node 2 (ai.onnx.Flatten): attribute axis is given twice\n"
            "  node 3 (ai.onnx.Concat): attribute axis is missing");
}

TEST(OnnxErrors, InputsWithoutAUsableType) {
  ModelBuilder builder;
  builder.input("text", {2}, ElementType::string).input("bad", {-2}).output("bad");
  builder.model.graph->input.emplace_back().name = "list";
  EXPECT_EQ(builder.error(),
            "the model cannot be imported, because of 3 problems:\n"
            "  input 'text': its elements are STRING, for which sinter has no dtype\n"
            "  input 'bad': an extent is -2; extents are at least 0\n"
            "  input 'list': it has no tensor type; sequences, maps and optional values are not "
            "supported");
}

TEST(OnnxErrors, OutputsThatNothingDefines) {
  ModelBuilder builder;
  builder.input("x", {2}).output("y");
  EXPECT_EQ(builder.error(), std::string(kOne) + "output 'y': nothing defines it");
  ModelBuilder none;
  none.input("x", {2});
  EXPECT_EQ(none.error(), std::string(kOne) + "the graph: it has no outputs");
  ModelBuilder other;
  other.input("x", {2}).add("Neg", {"x"}, {"y"});
  other.model.graph->output.push_back(value_info("y", ElementType::f64, {2}));
  EXPECT_EQ(other.error(),
            std::string(kOne) +
                "output 'y': the model declares DOUBLE for it, but its nodes compute f32");
}

TEST(OnnxErrors, OldAndNewOperatorSets) {
  ModelBuilder builder;
  builder.input("x", {2}).add("Neg", {"x"}, {"y"}).output("y").opset(0);
  EXPECT_EQ(
      builder.error(),
      "it uses version 0 of the ONNX operators; sinter imports versions 1 to 28: convert it with "
      "onnx.version_converter");
  builder.opset(99);
  EXPECT_THAT(builder.error(), HasSubstr("it uses version 99"));
}

TEST(OnnxErrors, HugeShapesAreRefused) {
  ModelBuilder builder;
  builder.input("x", {1})
      .initializer(integer_tensor("shape", {3}, {1LL << 40, 1LL << 40, 1LL << 40}))
      .add("Expand", {"x", "shape"}, {"y"})
      .output("y");
  EXPECT_THAT(builder.error(), HasSubstr("node 0 (ai.onnx.Expand): "));
  ModelBuilder filled;
  filled.initializer(integer_tensor("shape", {1}, {-5}))
      .add("ConstantOfShape", {"shape"}, {"y"})
      .output("y");
  EXPECT_THAT(filled.error(), HasSubstr("node 0 (ai.onnx.ConstantOfShape): "));
}

TEST(OnnxErrors, FilesThatAreNoModels) {
  EXPECT_EQ(import_error(""), "it has no graph; it is damaged, or is no ONNX model");
  EXPECT_THAT(import_error("graph softmax(x: f32[2]) {"), HasSubstr("is no ONNX model"));
}

}  // namespace
}  // namespace sinter::test::errors_test
