// Recording: equal nodes, shapes, dtypes, labels and locations.
#include "ir/record/record.h"

#include "sinter/views.h"
#include "tests/support/files/errors.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace sinter::record_test {
namespace {

class RecordTest : public testing::Test {
 protected:
  Graph graph{"g"};
  Tensor x = graph.input("x", f32, {64, 128});
  Tensor half = graph.input("half", bf16, {64, 128});
  Tensor count = graph.input("count", i32, {128});
  Tensor flag = graph.input("flag", boolean, {64, 1});
};

std::string shape_of(Tensor tensor) { return to_string(tensor.shape()); }

TEST_F(RecordTest, EqualOpsOfEqualOperandsAreOneNode) {
  const Tensor a = exp(x);
  const Tensor b = exp(x);
  EXPECT_EQ(a.node(), b.node());
  EXPECT_EQ(sum(a, {-1}).node(), sum(b, {1}).node());
  EXPECT_EQ((x + 1).node(), (x + 1.0).node());
  EXPECT_EQ(slice(x, 0, -4, 64).node(), slice(x, -2, 60, 70).node());
  EXPECT_EQ(reshape(x, {-1}).node(), reshape(x, {64 * 128}).node());
}

TEST_F(RecordTest, DifferentOpsOperandsOrAttributesAreDifferentNodes) {
  EXPECT_NE(exp(x).node(), log(x).node());
  EXPECT_NE((x - count.rank()).node(), (x + count.rank()).node());
  EXPECT_NE(sum(x, {0}).node(), sum(x, {1}).node());
  EXPECT_NE(sum(x, {0}).node(), sum(x, {0}, keep).node());
  EXPECT_NE((x * 0.0).node(), (x * -0.0).node());
}

TEST_F(RecordTest, InputsOfOneTypeAreDifferentNodes) {
  EXPECT_NE(graph.input("y", f32, {64, 128}).node(), x.node());
  EXPECT_NE(graph.scalar("a", f32).node(), graph.scalar("b", f32).node());
}

TEST_F(RecordTest, LabelsDoNotDistinguishNodes) {
  const Tensor a = exp(x).label("first");
  EXPECT_EQ(exp(x).node(), a.node());
  EXPECT_EQ(graph.data().label(a.node()), "first");
}

TEST_F(RecordTest, OperandsHaveSmallerIds) {
  const Tensor y = softmax(x) * 2 + gelu(x);
  for (const Node* node : y.graph()->nodes)
    for (const Node* operand : node->operands) EXPECT_LT(operand->id, node->id);
}

TEST_F(RecordTest, ShapesBroadcastAsInNumpy) {
  EXPECT_EQ(shape_of(x + graph.input("row", f32, {128})), "[64, 128]");
  EXPECT_EQ(shape_of(x + graph.input("column", f32, {64, 1})), "[64, 128]");
  EXPECT_EQ(shape_of(x + graph.scalar("s", f32)), "[64, 128]");
  EXPECT_EQ(shape_of(graph.input("a", f32, {4, 1, 3}) + graph.input("b", f32, {5, 1})),
            "[4, 5, 3]");
  EXPECT_EQ(shape_of(graph.input("c", f32, {0, 1}) + graph.input("d", f32, {1, 7})), "[0, 7]");
  EXPECT_EQ(shape_of(where(flag, x, 0)), "[64, 128]");
  const Extent rows = graph.extent("rows");
  EXPECT_EQ(shape_of(graph.input("e", f32, {rows, 1}) + graph.input("f", f32, {8})), "[rows, 8]");
}

TEST_F(RecordTest, NumbersHaveTheComputeTypeOfOtherOperands) {
  EXPECT_EQ((x + 1).node()->operand(1)->dtype, f32);
  EXPECT_EQ((half + 1).node()->operand(1)->dtype, f32);
  EXPECT_EQ((half + 1).dtype(), bf16);
  EXPECT_EQ((count + 1).node()->operand(1)->dtype, i32);
  EXPECT_EQ((count + 1.0).dtype(), f32);
  EXPECT_EQ(eq(flag, true).node()->operand(1)->dtype, boolean);
  EXPECT_EQ(where(flag, 1.0, 0.0).dtype(), f32);
  EXPECT_EQ(where(flag, 1, 0).dtype(), i64);
  EXPECT_EQ(where(flag, true, false).dtype(), boolean);
}

TEST_F(RecordTest, NumbersKeepTheirBits) {
  const auto value = [](Tensor y) { return y.node()->operand(1)->attributes[0].literal.real; };
  EXPECT_EQ(value(x + 0.1), static_cast<double>(0.1F));
  EXPECT_TRUE(std::isnan(value(x + std::nan(""))));
  EXPECT_TRUE(std::isinf(value(x + std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(std::signbit(value(x + -0.0)));
  // All NaNs are equal.
  EXPECT_EQ((x + std::nan("")).node(), (x + -std::nan("1")).node());
}

TEST_F(RecordTest, ComparisonsReturnBool) {
  EXPECT_EQ((x < 1).dtype(), boolean);
  EXPECT_EQ(eq(flag, flag).dtype(), boolean);
  EXPECT_EQ(logical_not(flag).dtype(), boolean);
}

TEST_F(RecordTest, ReductionsDropOrKeepTheirAxes) {
  const Tensor y = graph.input("y", f32, {2, 3, 4});
  EXPECT_EQ(shape_of(sum(y)), "[]");
  EXPECT_EQ(shape_of(sum(y, {-1, 0})), "[3]");
  EXPECT_EQ(shape_of(mean(y, {1}, keep)), "[2, 1, 4]");
  EXPECT_EQ(shape_of(argmax(y, -2)), "[2, 4]");
  EXPECT_EQ(shape_of(sum(graph.scalar("s", f32))), "[]");
}

TEST_F(RecordTest, SumsOfIntegersAndBoolsAreI64) {
  EXPECT_EQ(sum(count).dtype(), i64);
  EXPECT_EQ(sum(flag).dtype(), i64);
  EXPECT_EQ(max(count).dtype(), i32);
  EXPECT_EQ(argmax(half, 0).dtype(), i64);
  EXPECT_EQ(sum(half).dtype(), bf16);
}

TEST_F(RecordTest, NoOpStructuralOpsRecordNothing) {
  EXPECT_EQ(cast(x, f32).node(), x.node());
  EXPECT_EQ(reshape(x, {64, -1}).node(), x.node());
  EXPECT_EQ(permute(x, {0, 1}).node(), x.node());
  EXPECT_EQ(broadcast_to(x, {64, 128}).node(), x.node());
  EXPECT_EQ(slice(x, 1, 0, 500).node(), x.node());
  EXPECT_EQ(concat({x}, 0).node(), x.node());
}

TEST_F(RecordTest, ShapesMayBeSymbolic) {
  const Extent rows = graph.extent("rows");
  const Tensor y = graph.input("y", f32, {rows, 16});
  EXPECT_EQ(shape_of(reshape(y, {-1})), "[rows * 16]");
  EXPECT_EQ(shape_of(reshape(y, {-1, 4, 4})), "[rows, 4, 4]");
  EXPECT_EQ(shape_of(concat({y, y, y}, 0)), "[rows * 3, 16]");
  EXPECT_EQ(shape_of(slice(y, 0, 1, rows)), "[rows - 1, 16]");
  EXPECT_EQ(shape_of(slice(y, 0, 0, rows, 2)), "[floor_div(rows + 1, 2), 16]");
  EXPECT_EQ(shape_of(iota(graph, rows)), "[rows]");
}

TEST_F(RecordTest, RecordsTheLocationOfTheCaller) {
  const int line = __LINE__ + 1;
  const Tensor y = x * 2 + 1;
  EXPECT_EQ(graph.data().location_text(y.node()), "record_test.cpp:" + std::to_string(line));
}

TEST_F(RecordTest, CompositesRecordTheLocationOfTheCaller) {
  const std::size_t first = graph.data().nodes.size();
  const int line = __LINE__ + 1;
  log_softmax(gelu(sigmoid(x)));
  for (std::size_t id = first; id < graph.data().nodes.size(); ++id)
    EXPECT_EQ(graph.data().location_text(graph.data().nodes[id]),
              "record_test.cpp:" + std::to_string(line));
}

TEST_F(RecordTest, OutputsLabelTheirValue) {
  const Tensor y = exp(x);
  graph.output("y", y);
  graph.output("again", y);
  EXPECT_EQ(graph.data().label(y.node()), "y");
  EXPECT_EQ(graph.data().outputs.size(), 2U);
}

TEST_F(RecordTest, AcceptsZeroSizeTensors) {
  const Tensor empty = graph.input("empty", f32, {0, 5});
  EXPECT_EQ(shape_of(exp(empty) + 1), "[0, 5]");
  EXPECT_EQ(shape_of(sum(empty, {0})), "[5]");
  EXPECT_EQ(shape_of(reshape(empty, {5, 0, 2})), "[5, 0, 2]");
  EXPECT_EQ(shape_of(concat({empty, empty}, 0)), "[0, 5]");
}

TEST_F(RecordTest, AcceptsAnOrderOfAxes) {
  const std::int64_t axes[] = {0, 1};
  const std::int64_t order[] = {1, 0};
  const Tensor y = record_reduction(Op::sum, x, axes, {.order = order});
  EXPECT_EQ(reduction_order(*y.node()), (std::vector<std::int64_t>{1, 0}));
  const std::int64_t ascending[] = {0, 1};
  EXPECT_EQ(record_reduction(Op::sum, x, axes, {.order = ascending}).node(), sum(x).node());
  const std::int64_t wrong[] = {1, 1};
  EXPECT_EQ(test::error_of([&] {
              record_reduction(Op::sum, {x, "m.cpp", 3}, axes, {.order = wrong});
            }),
            "sum: the order [1, 1] must name the axes [0, 1], each once (recorded at m.cpp:3)");
}

TEST_F(RecordTest, AcceptsVectorsOfTensorsAsOperands) {
  const std::vector<Tensor> segments = split(x, 24);
  EXPECT_EQ(shape_of(concat(segments, 0)), "[64, 128]");
  EXPECT_EQ(concat(segments, 0).node(), concat({segments[0], segments[1], segments[2]}, 0).node());
  EXPECT_EQ(shape_of(stack(std::vector<Tensor>{x, x}, -1)), "[64, 128, 2]");
  const std::vector<Tensor> indices = {count, count};
  const Tensor read = index(x, {count, count}, {0, 1});
  EXPECT_EQ(index(x, indices, {0, 1}).node(), read.node());
  const Tensor written = index_put(x, read, {count, count}, {0, 1}, true);
  EXPECT_EQ(index_put(x, read, indices, {0, 1}, true).node(), written.node());
  EXPECT_EQ(shape_of(written), "[64, 128]");

  const std::vector<Tensor> different = {x, half};
  const int line = __LINE__ + 1;
  const std::string message = test::error_of([&] { concat(different, 0); });
  EXPECT_NE(message.find("record_test.cpp:" + std::to_string(line)), message.npos) << message;
  EXPECT_EQ(test::error_of([&] { concat(std::vector<Tensor>{}, 0); }),
            "concat: there are no operands; give at least one Tensor");
}

}  // namespace
}  // namespace sinter::record_test
