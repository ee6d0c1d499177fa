// Operands of unusual ranks and parameters out of range give errors, and no access out of bounds.
#include "tests/onnx/models/model_builder.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::operands_test {
namespace {

using onnx::ElementType;
using testing::HasSubstr;

TEST(OnnxOperands, AVectorPerChannelNeedsTheAxisOfChannels) {
  ModelBuilder bias;
  bias.input("x", {1, 2, 5})
      .input("w", {3, 2, 3})
      .input("b", {})
      .add("Conv", {"x", "w", "b"}, {"y"})
      .output("y");
  EXPECT_THAT(bias.error(), HasSubstr("an operand has rank 0; it must be a vector along axis 1"));
  ModelBuilder norm;
  norm.input("x", {})
      .input("s", {2})
      .add("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"})
      .output("y");
  EXPECT_THAT(norm.error(), HasSubstr("a vector belongs to axis 1 of a value of rank 0"));
  ModelBuilder slope;
  slope.input("x", {3}).input("s", {3}).add("PRelu", {"x", "s"}, {"y"}).output("y").opset(6);
  EXPECT_THAT(slope.error(), HasSubstr("a vector belongs to axis 1 of a value of rank 1"));
}

TEST(OnnxOperands, Attention) {
  ModelBuilder heads;
  heads.input("q", {1, 2, 3, 4})
      .input("k", {1, 2, 3, 4})
      .input("v", {1, 0, 3, 4})
      .add("Attention", {"q", "k", "v"}, {"y"})
      .output("y")
      .opset(24);
  EXPECT_THAT(heads.error(), HasSubstr("2 heads cannot share 0 heads of keys or values"));
  ModelBuilder counts;
  counts.input("q", {1, 2, 3, 4})
      .input("n", {}, ElementType::i64)
      .add("Attention", {"q", "q", "q", "", "", "", "n"}, {"y"})
      .output("y")
      .opset(24);
  EXPECT_THAT(counts.error(), HasSubstr("nonpad_kv_seqlen has rank 0; it must be a vector"));
}

TEST(OnnxOperands, RegionsAndOffsets) {
  ModelBuilder regions;
  regions.input("x", {2, 3})
      .input("rois", {1, 4})
      .input("batch", {1}, ElementType::i64)
      .add(
          node("RoiAlign", {"x", "rois", "batch"}, {"y"}, {integer_attribute("sampling_ratio", 2)}))
      .output("y");
  EXPECT_THAT(regions.error(),
              HasSubstr("its inputs have the ranks 2, 2 and 1; they must be 4, 2 and 1"));
  ModelBuilder offsets;
  offsets.input("x", {1, 1, 3, 3})
      .input("w", {1, 1, 2, 2})
      .input("o", {8})
      .add("DeformConv", {"x", "w", "o"}, {"y"})
      .output("y")
      .opset(19);
  EXPECT_THAT(offsets.error(),
              HasSubstr("its input, filters and offsets have the ranks 4, 4 and 1"));
}

TEST(OnnxOperands, StatesAndCaches) {
  ModelBuilder state;
  state.input("x", {2, 1, 3})
      .input("w", {1, 12, 3})
      .input("r", {1, 12, 4})
      .input("h", {4})
      .add("GRU", {"x", "w", "r", "", "", "h"}, {"y"})
      .output("y");
  EXPECT_THAT(state.error(), HasSubstr("it must have rank 3 and 4 elements at the end"));
  ModelBuilder cache;
  cache.input("cache", {1, 2, 3, 4})
      .input("update", {4})
      .add("TensorScatter", {"cache", "update"}, {"y"})
      .output("y")
      .opset(24);
  EXPECT_THAT(cache.error(), HasSubstr("its inputs have the ranks 4 and 1; they must be equal"));
}

/// The elements of a block are a product, which must not overflow to 0.
TEST(OnnxOperands, BlocksOfColumns) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;
  ModelBuilder builder;
  builder.input("x", {1, 0, 5})
      .initializer(integer_tensor("image", {3}, {4, 4, 4}))
      .initializer(integer_tensor("block", {3}, {kLarge, kLarge, 4}))
      .add("Col2Im", {"x", "image", "block"}, {"y"})
      .output("y")
      .opset(18);
  EXPECT_THAT(builder.error(), HasSubstr("axis 1 of its input is 0; it must be a multiple of the "
                                         "2147483648 × 2147483648 × 4 elements of a block"));
}

TEST(OnnxOperands, WindowsOfSignals) {
  ModelBuilder builder;
  builder.input("x", {1, 8, 1})
      .input("window", {})
      .initializer(integer_tensor("step", {}, {2}))
      .add("STFT", {"x", "step", "window"}, {"y"})
      .output("y");
  EXPECT_THAT(builder.error(), HasSubstr("its window has rank 0; it must be a vector"));
}

/// The number of terms grows with 4 to the power of the axes.
TEST(OnnxOperands, GridsOfManyAxes) {
  ModelBuilder builder;
  builder.input("x", {1, 1, 2, 2, 2, 2, 2})
      .input("grid", {1, 2, 2, 2, 2, 2, 5})
      .add(node("GridSample", {"x", "grid"}, {"y"}, {text_attribute("mode", "cubic")}))
      .output("y")
      .opset(20);
  EXPECT_THAT(builder.error(), HasSubstr("x has 5 spatial axes; sinter samples up to 4"));
}

TEST(OnnxOperands, DepthsAndShapesOutOfRange) {
  ModelBuilder depth;
  depth.input("x", {2}, ElementType::i64)
      .initializer(real_tensor("depth", {}, {std::numeric_limits<float>::quiet_NaN()}))
      .input("values", {2})
      .add("OneHot", {"x", "depth", "values"}, {"y"})
      .output("y");
  EXPECT_THAT(depth.error(), HasSubstr("its depth is nan; it must be at least 0"));
  ModelBuilder shape;
  shape.input("x", {1, 1, 2, 2})
      .input("i", {1, 1, 2, 2}, ElementType::i64)
      .initializer(
          integer_tensor("shape", {4}, {1, 1, std::numeric_limits<std::int64_t>::min(), 4}))
      .add(
          node("MaxUnpool", {"x", "i", "shape"}, {"y"},
               {integers_attribute("kernel_shape", {2, 2}), integers_attribute("strides", {2, 2})}))
      .output("y");
  EXPECT_THAT(shape.error(), HasSubstr("axis 2 of its output shape is -9223372036854775808; it "
                                       "must be at least 4"));
}

/// A Resize of x along its last axis.
ModelBuilder resize_model(int extent, onnx::TensorProto scales_or_sizes,
                          std::vector<onnx::AttributeProto> attributes,
                          ElementType type = ElementType::f32) {
  const bool has_sizes = scales_or_sizes.name == "sizes";
  ModelBuilder builder;
  builder.input("x", {1, extent}, type)
      .initializer(real_tensor("roi", {4}, {0, -1, 1, 2}))
      .initializer(std::move(scales_or_sizes))
      .add(node("Resize", {"x", "roi", has_sizes ? "" : "scales", has_sizes ? "sizes" : ""}, {"y"},
                std::move(attributes)))
      .output("y")
      .opset(18);
  return builder;
}

TEST(OnnxOperands, ResizingHasLimits) {
  const onnx::AttributeProto linear = text_attribute("mode", "linear");
  EXPECT_THAT(resize_model(4, integer_tensor("sizes", {2}, {1, 1 << 30}), {linear}).error(),
              HasSubstr("needs more than 2^22 weights"));
  EXPECT_THAT(resize_model(4, integer_tensor("sizes", {2}, {1, -3}), {linear}).error(),
              HasSubstr("an axis gets -3 elements; the number must be at least 0"));
  EXPECT_THAT(resize_model(0, integer_tensor("sizes", {2}, {1, 3}), {linear}).error(),
              HasSubstr("an axis without elements cannot be resized"));
  EXPECT_THAT(resize_model(4, real_tensor("scales", {2}, {1, INFINITY}), {linear}).error(),
              HasSubstr("a scale is inf; scales must be above 0 and below 2^40"));
  EXPECT_THAT(resize_model(1 << 30, real_tensor("scales", {2}, {1, 1e-7F}),
                           {linear, integer_attribute("antialias", 1)})
                  .error(),
              HasSubstr("needs more than 2^22 weights"));
}

/// Nearest neighbours need no arithmetic, which integers would not have.
TEST(OnnxOperands, NearestNeighboursOfIntegers) {
  const ModelBuilder cropped =
      resize_model(4, integer_tensor("sizes", {2}, {1, 4}),
                   {text_attribute("mode", "nearest"), real_attribute("extrapolation_value", 7),
                    text_attribute("coordinate_transformation_mode", "tf_crop_and_resize")},
                   ElementType::u8);
  EXPECT_EQ(cropped.error(), "");
  EXPECT_THAT(cropped.text(), HasSubstr("where"));
  const ModelBuilder excluded =
      resize_model(4, integer_tensor("sizes", {2}, {1, 6}),
                   {text_attribute("mode", "nearest"), integer_attribute("exclude_outside", 1)},
                   ElementType::u8);
  EXPECT_EQ(excluded.error(), "");
}

TEST(OnnxOperands, ANodeWithoutOutputs) {
  ModelBuilder builder =
      resize_model(4, real_tensor("scales", {2}, {1, 1.5F}), {text_attribute("mode", "linear")});
  builder.model.graph->node[0].output.clear();
  builder.add("Neg", {"x"}, {"y"});
  EXPECT_EQ(builder.error(), "");
}

}  // namespace
}  // namespace sinter::test::operands_test
