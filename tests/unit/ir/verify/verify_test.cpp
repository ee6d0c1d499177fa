// verify: invalid graphs that recording never creates. Each test breaks one property.
#include "ir/verify/verify.h"

#include "sinter/ops.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"

#include <gtest/gtest.h>

namespace sinter::verify_test {
namespace {

class VerifyTest : public testing::Test {
 protected:
  Graph graph{"g"};
  GraphData& data = graph.data();
  Tensor x = graph.input("x", f32, {6, 4});
  Tensor half = graph.input("half", bf16, {6, 4});
  Tensor flag = graph.input("flag", boolean, {6, 4});
  Tensor count = graph.input("count", i64, {6, 4});

  /// Adds a node without any check.
  const Node* make(Op op, DType dtype, std::vector<const Node*> operands, std::vector<Extent> shape,
                   std::vector<Attribute> attributes = {}) {
    return data.make(
        {.op = op, .dtype = dtype, .operands = operands, .shape = shape, .attributes = attributes},
        {"model.cpp", 42});
  }
  /// The error of verify, without its common prefix and suffix.
  std::string verdict() {
    std::string message = test::error_of<InternalError>([&] { verify(graph); });
    const std::string suffix = "; please report it with the graph";
    if (message.ends_with(suffix)) message.resize(message.size() - suffix.size());
    const std::string prefix = "(recorded at model.cpp:42): ";
    const std::size_t at = message.find(prefix);
    return at == message.npos ? message : message.substr(at + prefix.size());
  }
};

TEST_F(VerifyTest, RecordedGraphsAreValid) {
  graph.output("y", softmax(x) + where(flag, half * 2, 0.5).rank());
  graph.output("z", argmax(concat({x, x}, 1), 0));
  graph.update(x, sigmoid(x));
  EXPECT_EQ(verdict(), "(nothing thrown)");
}

TEST_F(VerifyTest, MessagesNameGraphNodeAndLocation) {
  make(Op::exp, f32, {x.node()}, {6, 5});
  EXPECT_EQ(
      test::error_of<InternalError>([&] { verify(graph); }),
      "sinter bug: graph g is broken: %4 exp (recorded at model.cpp:42): the shape is [6, 5], "
      "expected [6, 4]; please report it with the graph");
}

TEST_F(VerifyTest, CatchesWrongDTypes) {
  make(Op::exp, bf16, {x.node()}, {6, 4});
  EXPECT_EQ(verdict(), "the dtype is bf16, expected f32");
}

TEST_F(VerifyTest, CatchesUnsupportedDTypes) {
  make(Op::exp, i64, {count.node()}, {6, 4});
  EXPECT_EQ(verdict(), "the op does not take i64");
}

TEST_F(VerifyTest, CatchesOperandsOfDifferentDTypes) {
  make(Op::add, f32, {x.node(), half.node()}, {6, 4});
  EXPECT_EQ(verdict(), "operand %1 is bf16, expected f32");
}

TEST_F(VerifyTest, CatchesAComparisonThatIsNotBool) {
  make(Op::lt, f32, {x.node(), x.node()}, {6, 4});
  EXPECT_EQ(verdict(), "the dtype is f32, expected bool");
}

TEST_F(VerifyTest, CatchesAConditionThatIsNotBool) {
  make(Op::where, f32, {x.node(), x.node(), x.node()}, {6, 4});
  EXPECT_EQ(verdict(), "the dtype of the condition is f32, expected bool");
}

TEST_F(VerifyTest, CatchesANumberOfAnotherDType) {
  const Node* number =
      make(Op::constant, i64, {}, {}, {{.literal = {Literal::Kind::integer, 1, 0}}});
  make(Op::add, f32, {x.node(), number}, {6, 4});
  EXPECT_EQ(verdict(), "operand %4 is i64, expected f32");
}

TEST_F(VerifyTest, AllowsF32NumbersWithHalves) {
  const Node* number = make(Op::constant, f32, {}, {}, {{.literal = {.real = 1}}});
  make(Op::add, bf16, {half.node(), number}, {6, 4});
  EXPECT_EQ(verdict(), "(nothing thrown)");
}

TEST_F(VerifyTest, CatchesTheWrongNumberOfOperands) {
  make(Op::add, f32, {x.node()}, {6, 4});
  EXPECT_EQ(verdict(), "the number of operands is 1, expected 2");
}

TEST_F(VerifyTest, CatchesOperandsOfAnotherGraph) {
  Graph other("h");
  make(Op::exp, f32, {other.input("y", f32, {6, 4}).node()}, {6, 4});
  EXPECT_EQ(verdict(), "operand 0 is not a node of the graph");
}

TEST_F(VerifyTest, CatchesNodesOutOfOrder) {
  const Node* a = exp(x).node();
  const Node* b = log(Tensor(a, &data)).node();
  std::swap(data.nodes[a->id], data.nodes[b->id]);
  EXPECT_NE(verdict().find("the id is 5, expected 4"), std::string::npos);
}

TEST_F(VerifyTest, CatchesMissingAttributes) {
  make(Op::cast, f16, {x.node()}, {6, 4});
  EXPECT_EQ(verdict(), "the number of attributes is 0, expected 1");
}

TEST_F(VerifyTest, CatchesAttributesOfAnotherKind) {
  make(Op::cast, f16, {x.node()}, {6, 4}, {{.integer = 3, .dtype = f16}});
  EXPECT_EQ(verdict(), "attribute to has a value of another kind");
}

TEST_F(VerifyTest, CatchesACastToAnotherDType) {
  make(Op::cast, f16, {x.node()}, {6, 4}, {{.dtype = bf16}});
  EXPECT_EQ(verdict(), "the dtype is f16, expected bf16");
}

TEST_F(VerifyTest, CatchesAReshapeThatLosesElements) {
  const std::vector<Extent> shape = {6, 5};
  make(Op::reshape, f32, {x.node()}, shape, {{.extents = shape}});
  EXPECT_EQ(verdict(), "[6, 5] has 30 elements, expected the 24 of [6, 4]");
}

TEST_F(VerifyTest, CatchesAPermuteThatRepeatsAnAxis) {
  const std::int64_t axes[] = {0, 0};
  make(Op::permute, f32, {x.node()}, {6, 6}, {{.integers = axes}});
  EXPECT_EQ(verdict(), "the axes are [0, 0], expected each of [6, 4] once");
}

TEST_F(VerifyTest, CatchesAnInvalidBroadcast) {
  const std::vector<Extent> shape = {6, 8};
  make(Op::broadcast_to, f32, {x.node()}, shape, {{.extents = shape}});
  EXPECT_EQ(verdict(), "the operand's shape [6, 4] does not broadcast to [6, 8]");
}

TEST_F(VerifyTest, CatchesASliceThatLeavesItsAxis) {
  make(Op::slice, f32, {x.node()}, {4, 4},
       {{.integer = 0}, {.extent = 3}, {.extent = 7}, {.integer = 1}});
  EXPECT_EQ(verdict(), "the slice [3, 7) leaves the extent 6");
}

TEST_F(VerifyTest, CatchesASliceOfTheWrongLength) {
  make(Op::slice, f32, {x.node()}, {4, 4},
       {{.integer = 0}, {.extent = 1}, {.extent = 6}, {.integer = 2}});
  EXPECT_EQ(verdict(), "the shape is [4, 4], expected [3, 4]");
}

TEST_F(VerifyTest, CatchesAnInvalidConcat) {
  const Node* other = graph.input("other", f32, {6, 5}).node();
  make(Op::concat, f32, {x.node(), other}, {12, 4}, {{.integer = 0}});
  EXPECT_EQ(verdict(), "operands [6, 4] and [6, 5] do not fit along axis 0");
}

TEST_F(VerifyTest, CatchesNonIntegerIndices) {
  make(Op::take, f32, {x.node(), x.node()}, {6, 4, 4}, {{.integer = 0}});
  EXPECT_EQ(verdict(), "the indices are f32");
}

TEST_F(VerifyTest, CatchesAxesThatAreNotAscending) {
  const std::int64_t axes[] = {1, 0};
  make(Op::sum, f32, {x.node()}, {}, {{.integers = axes}, {}, {}});
  EXPECT_EQ(verdict(), "the axes are [1, 0], expected ascending axes of [6, 4]");
}

TEST_F(VerifyTest, CatchesAnOrderOfOtherAxes) {
  const std::int64_t axes[] = {0};
  const std::int64_t order[] = {1};
  make(Op::sum, f32, {x.node()}, {4}, {{.integers = axes}, {}, {.integers = order}});
  EXPECT_EQ(verdict(), "the order is [1], expected none or another order of [0]");
}

TEST_F(VerifyTest, CatchesARedundantOrder) {
  const std::int64_t axes[] = {0, 1};
  make(Op::sum, f32, {x.node()}, {}, {{.integers = axes}, {}, {.integers = axes}});
  EXPECT_EQ(verdict(), "the order is [0, 1], expected none or another order of [0, 1]");
}

TEST_F(VerifyTest, CatchesASumOfIntegersThatIsNotI64) {
  const Node* small = graph.input("small", i32, {4}).node();
  const std::int64_t axes[] = {0};
  make(Op::sum, i32, {small}, {}, {{.integers = axes}, {}, {}});
  EXPECT_EQ(verdict(), "the dtype is i32, expected i64");
}

TEST_F(VerifyTest, CatchesANumberThatIsNotRounded) {
  make(Op::constant, f32, {}, {}, {{.literal = {.real = 0.1}}});
  EXPECT_EQ(verdict(), "the literal 0.1 is not a value of f32");
}

TEST_F(VerifyTest, CatchesANumberOfAnotherKind) {
  make(Op::constant, i64, {}, {}, {{.literal = {.real = 1}}});
  EXPECT_EQ(verdict(), "the literal is not of the kind of i64");
}

TEST_F(VerifyTest, CatchesSymbolsOfAnotherGraph) {
  Graph other("h");
  make(Op::iota, i64, {}, {other.extent("n")},
       {{.extent = other.extent("n")}, {}, {.integer = 1}, {.dtype = i64}});
  EXPECT_EQ(verdict(), "an extent's symbols belong to another graph");
}

TEST_F(VerifyTest, CatchesInputsThatTheGraphDoesNotList) {
  make(Op::input, f32, {}, {4}, {{.integer = 9}, {}});
  EXPECT_EQ(verdict(), "the graph's input 9 is another node");
}

TEST_F(VerifyTest, CatchesInputsOfOneName) {
  data.inputs[1].name = "x";
  EXPECT_EQ(verdict(),
            "sinter bug: graph g is broken: inputs and outputs: two inputs are called x");
}

TEST_F(VerifyTest, CatchesOutputsOfOneName) {
  data.outputs.push_back({.name = "y", .node = x.node()});
  data.outputs.push_back({.name = "y", .node = half.node()});
  EXPECT_EQ(verdict(),
            "sinter bug: graph g is broken: inputs and outputs: two outputs are called y");
}

TEST_F(VerifyTest, CatchesUpdatesOfAnotherType) {
  data.updates.push_back({.parameter = x.node(), .value = half.node()});
  EXPECT_EQ(
      verdict(),
      "sinter bug: graph g is broken: inputs and outputs: the value of update x is bf16[6, 4], "
      "expected f32[6, 4]");
}

}  // namespace
}  // namespace sinter::verify_test
