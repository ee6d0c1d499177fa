// Loops: known trip counts, conditions at run time, collected outputs, and limits.
#include "tests/onnx/models/run_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::loops_test {
namespace {

using onnx::ElementType;
using onnx::GraphProto;
using testing::HasSubstr;

/// A body that doubles x, collects x, and goes on while the sum of x is below 20, or always.
GraphProto doubling_body(bool collects, bool is_endless) {
  GraphProto body;
  body.name = "body";
  body.input = {value_info("i", ElementType::i64, {}), value_info("go", ElementType::boolean, {}),
                value_info("x", ElementType::f32, {2})};
  body.initializer = {real_tensor("two", {}, {2}), real_tensor("limit", {}, {20})};
  body.node = {node("Mul", {"x", "two"}, {"next"}),
               node("ReduceSum", {"next"}, {"total"}, {integer_attribute("keepdims", 0)}),
               node("Less", {"total", "limit"}, {"is_low"}),
               node("Identity", {is_endless ? "go" : "is_low"}, {"go_on"}),
               node("Identity", {"x"}, {"seen"})};
  body.output = {value_info("go_on", ElementType::boolean, {}),
                 value_info("next", ElementType::f32, {2})};
  if (collects) body.output.push_back(value_info("seen", ElementType::f32, {2}));
  return body;
}

/// A model with one Loop, whose count and condition are `count`, `go` or missing.
ModelBuilder looping(const GraphProto& body, const char* count = "count", const char* go = "go",
                     bool is_count_known = true) {
  ModelBuilder builder;
  onnx::TensorProto yes;
  yes.name = "go";
  yes.data_type = static_cast<std::int32_t>(ElementType::boolean);
  yes.int32_data = {1};
  builder.input("x", {2}).initializer(yes);
  if (is_count_known)
    builder.initializer(integer_tensor("count", {}, {4}));
  else
    builder.input("count", {}, ElementType::i64);
  const bool collects = body.output.size() > 2;
  builder
      .add(node("Loop", {count, go, "x"}, collects ? Names{"y", "all"} : Names{"y"},
                {graph_attribute("body", body)}))
      .output("y");
  if (collects) builder.output("all");
  return builder;
}

HostArrays looped(const ModelBuilder& model) {
  return outputs_of(model, {{"x", real_array(f32, {2}, {1, 3})}});
}

TEST(OnnxLoop, CollectsOutputs) {
  const HostArrays results = looped(looping(doubling_body(true, true)));
  EXPECT_EQ(reals_of(results.at("y")), (std::vector<double>{16, 48}));
  EXPECT_EQ(reals_of(results.at("all")), (std::vector<double>{1, 3, 2, 6, 4, 12, 8, 24}));
}

/// The sums are 8, 16, 32: the third iteration is the last.
TEST(OnnxLoop, AConditionAtRunTimeEndsTheLoop) {
  EXPECT_EQ(reals_of(looped(looping(doubling_body(false, false))).at("y")),
            (std::vector<double>{8, 24}));
}

/// The body's condition is an output that such a loop ignores; the next iteration gets it.
TEST(OnnxLoop, WithoutAConditionTheTripCountAloneEndsTheLoop) {
  EXPECT_EQ(reals_of(looped(looping(doubling_body(false, false), "count", "")).at("y")),
            (std::vector<double>{16, 48}));
  const HostArrays results = looped(looping(doubling_body(true, false), "count", ""));
  EXPECT_EQ(reals_of(results.at("all")), (std::vector<double>{1, 3, 2, 6, 4, 12, 8, 24}));
  GraphProto counting = doubling_body(false, false);
  counting.node[3] = node("Not", {"go"}, {"go_on"});
  counting.node[0] = node("Where", {"go", "added", "x"}, {"next"});
  counting.node.insert(counting.node.begin(), node("Add", {"x", "two"}, {"added"}));
  // The condition is true, false, true, false.
  EXPECT_EQ(reals_of(looped(looping(counting, "count", "")).at("y")), (std::vector<double>{5, 7}));
}

TEST(OnnxLoop, WithoutACountAndAConditionItNeverEnds) {
  EXPECT_THAT(looping(doubling_body(false, true), "", "").error(),
              HasSubstr("node 0 (ai.onnx.Loop): it has neither a trip count nor a condition, so "
                        "that it never ends; give it one"));
}

TEST(OnnxLoop, TheNumberOfIterationsMustBeKnown) {
  EXPECT_THAT(looping(doubling_body(true, false)).error(),
              HasSubstr("its condition is computed at run time, so that the number of its "
                        "iterations is unknown"));
  EXPECT_THAT(looping(doubling_body(false, false), "").error(),
              HasSubstr("its condition is computed at run time"));
  EXPECT_THAT(looping(doubling_body(false, true), "count", "go", false).error(),
              HasSubstr("input 'count' (trip count) "));
}

TEST(OnnxLoop, EndlessLoopsAreTooLarge) {
  EXPECT_THAT(looping(doubling_body(false, true), "").error(),
              HasSubstr("with all functions inlined and loops unrolled, it has more than 2^20 "
                        "nodes"));
  GraphProto empty = doubling_body(false, true);
  empty.node.clear();
  empty.initializer.clear();
  empty.output = {value_info("go", ElementType::boolean, {}),
                  value_info("x", ElementType::f32, {2})};
  EXPECT_THAT(looping(empty, "").error(), HasSubstr("it has more than 2^20 nodes"));
}

TEST(OnnxLoop, AProblemInTheBodyIsReportedOnce) {
  GraphProto body = doubling_body(false, true);
  body.node[1].op_type = "NoSuchOperator";
  const std::string error = looping(body).error();
  EXPECT_THAT(error, HasSubstr("one problem"));
  EXPECT_THAT(error, HasSubstr("node 1 (ai.onnx.NoSuchOperator) in body of a Loop: "));
}

TEST(OnnxLoop, InputsAndOutputsOfTheBodyMustFit) {
  GraphProto body = doubling_body(false, true);
  body.input.pop_back();
  EXPECT_THAT(looping(body).error(), HasSubstr("the body of a Loop has 2 inputs; it gets 3"));
  GraphProto other = doubling_body(false, true);
  other.output.pop_back();
  EXPECT_THAT(looping(other).error(),
              HasSubstr("its body has 1 outputs; for 1 carried values it needs 2 or more"));
}

/// A body that adds the element to the sum, and gives the sum.
GraphProto summing_body() {
  GraphProto body;
  body.name = "body";
  body.input = {value_info("sum", ElementType::f32, {}), value_info("item", ElementType::f32, {2})};
  body.node = {node("Add", {"sum", "item"}, {"next"}), node("Identity", {"next"}, {"now"})};
  body.output = {value_info("next", ElementType::f32, {2}),
                 value_info("now", ElementType::f32, {2})};
  return body;
}

TEST(OnnxScan, DirectionsAndAxes) {
  ModelBuilder builder;
  builder.input("s", {2})
      .input("x", {2, 3})
      .add(node("Scan", {"s", "x"}, {"y", "all"},
                {graph_attribute("body", summing_body()), integer_attribute("num_scan_inputs", 1),
                 integers_attribute("scan_input_axes", {-1}),
                 integers_attribute("scan_input_directions", {1}),
                 integers_attribute("scan_output_axes", {1}),
                 integers_attribute("scan_output_directions", {1})}))
      .output("y")
      .output("all");
  const HostArrays results =
      outputs_of(builder, {{"s", real_array(f32, {2}, {100, 200})},
                           {"x", real_array(f32, {2, 3}, {1, 2, 3, 10, 20, 30})}});
  EXPECT_EQ(reals_of(results.at("y")), (std::vector<double>{106, 260}));
  EXPECT_EQ(reals_of(results.at("all")), (std::vector<double>{106, 105, 103, 260, 250, 230}));
}

TEST(OnnxScan, BatchesOfVersion8) {
  ModelBuilder builder;
  builder.input("s", {2, 2})
      .input("x", {2, 3, 2})
      .add(node("Scan", {"", "s", "x"}, {"y", "all"},
                {graph_attribute("body", summing_body()), integer_attribute("num_scan_inputs", 1)}))
      .output("y")
      .output("all")
      .opset(8);
  const HostArrays results = outputs_of(
      builder, {{"s", real_array(f32, {2, 2}, {0, 0, 100, 100})},
                {"x", real_array(f32, {2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}});
  EXPECT_EQ(reals_of(results.at("y")), (std::vector<double>{9, 12, 127, 130}));
  EXPECT_EQ(reals_of(results.at("all")),
            (std::vector<double>{1, 2, 4, 6, 9, 12, 107, 108, 116, 118, 127, 130}));
}

TEST(OnnxScan, ExtentsMustBeKnownAndFit) {
  const auto error_of = [](std::vector<Dim> shape, std::int64_t scanned) {
    ModelBuilder builder;
    builder.input("s", {2})
        .input("x", std::move(shape))
        .add(node("Scan", {"s", "x"}, {"y"},
                  {graph_attribute("body", summing_body()),
                   integer_attribute("num_scan_inputs", scanned)}))
        .output("y");
    return builder.error();
  };
  EXPECT_THAT(error_of({"n", 2}, 1), HasSubstr("the node needs the size of n"));
  EXPECT_THAT(error_of({0, 2}, 1), HasSubstr("it makes no iteration"));
  EXPECT_THAT(error_of({3, 2}, 3), HasSubstr("it has 2 inputs, of which 3 are scanned"));
  EXPECT_THAT(error_of({3, 2}, 2), HasSubstr("its scanned inputs have 2 and 3 elements"));
}

}  // namespace
}  // namespace sinter::test::loops_test
