// Mistakes of users while they record graphs, and the error messages.
#include "sinter/ops.h"
#include "sinter/views.h"
#include "tests/support/files/errors.h"

#include <cmath>
#include <regex>

#include <gtest/gtest.h>

namespace sinter::bad_input_test {
namespace {

/// The message of the error that `call` throws. Line numbers of this file are replaced by #.
std::string error_of(std::invocable auto call) {
  return std::regex_replace(test::error_of(call), std::regex("bad_input_test.cpp:[0-9]+"),
                            "bad_input_test.cpp:#");
}

std::string recorded(const std::string& message) {
  return message + " (recorded at bad_input_test.cpp:#)";
}

class BadInputTest : public testing::Test {
 protected:
  Graph graph{"g"};
  Tensor x = graph.input("x", f32, {128, 64});
  Tensor half = graph.input("half", f16, {128, 64});
  Tensor count = graph.input("count", i32, {64});
  Tensor flag = graph.input("flag", boolean, {64});
};

TEST_F(BadInputTest, MessagesNameTheLineOfTheCall) {
  const Tensor wide = graph.input("wide", f32, {128, 65});
  const int line = __LINE__ + 1;
  const auto call = [&] { x + wide; };
  EXPECT_EQ(test::error_of(call),
            "add: [128, 64] and [128, 65] do not broadcast: axis 1 is 64 and 65 (recorded at "
            "bad_input_test.cpp:" +
                std::to_string(line) + ")");
}

TEST_F(BadInputTest, RejectsShapesThatDoNotBroadcast) {
  const Tensor wide = graph.input("wide", f32, {128, 65});
  EXPECT_EQ(error_of([&] { x + wide; }),
            recorded("add: [128, 64] and [128, 65] do not broadcast: axis 1 is 64 and 65"));
  const Tensor row = graph.input("row", f32, {3});
  EXPECT_EQ(error_of([&] { fma(x, x, row); }),
            recorded("fma: [128, 64] and [3] do not broadcast: axis 1 is 64 and 3"));
  const Extent rows = graph.extent("rows");
  const Tensor tall = graph.input("tall", f32, {rows, 64});
  EXPECT_EQ(error_of([&] { x + tall; }),
            recorded("add: [128, 64] and [rows, 64] do not broadcast: axis 0 is 128 and rows"));
}

TEST_F(BadInputTest, RejectsDTypesWithoutACommonDType) {
  const Tensor natural = graph.input("natural", u64, {64});
  const Tensor whole = graph.input("whole", i64, {64});
  EXPECT_EQ(error_of([&] { whole + natural; }),
            recorded("add: i64[64] and u64[64] have no dtype in common; cast one of them"));
}

TEST_F(BadInputTest, RejectsUnsupportedDTypes) {
  const Tensor stored = graph.input("stored", c64, {64});
  EXPECT_EQ(error_of([&] { exp(stored); }),
            recorded("exp: takes floating operands, not c64; cast them"));
  EXPECT_EQ(error_of([&] { sum(stored); }), recorded("sum: c64[64] is for storage only; cast it"));
  EXPECT_EQ(error_of([&] { popcount(x); }),
            recorded("popcount: takes integer operands, not f32; cast them"));
  EXPECT_EQ(error_of([&] { flag + flag; }),
            recorded("add: takes floating or integer operands, not bool; cast them"));
  EXPECT_EQ(error_of([&] { nextafter(half, half); }),
            recorded("nextafter: takes f32 or f64 operands, not f16; cast them"));
  EXPECT_EQ(
      error_of([&] { bitcast(half, f32); }),
      recorded("bitcast: f16[128, 64] cannot be read as f32; both must have the same size and "
               "neither be bool"));
  EXPECT_EQ(error_of([&] { take(x, half, 0); }),
            recorded("take: the indices are f16[128, 64]; they must be integers"));
}

TEST_F(BadInputTest, RejectsNumbersOutOfRange) {
  EXPECT_EQ(error_of([&] { full(graph, {3}, 0.5, i32); }),
            recorded("full: the number 0.5 is not a value of i32; cast the Tensor or write a whole "
                     "number"));
  const Tensor small = graph.input("small", u8, {64});
  EXPECT_EQ(error_of([&] { small + 256; }), recorded("add: the number 256 is not a value of u8"));
  EXPECT_EQ(error_of([&] { small - (-1); }), recorded("sub: the number -1 is not a value of u8"));
  EXPECT_EQ(error_of([&] { count + (std::int64_t{1} << 40); }),
            recorded("add: the number 1099511627776 is not a value of i32"));
}

TEST_F(BadInputTest, RejectsOpsOfOnlyNumbers) {
  EXPECT_EQ(error_of([&] { add(1, 2); }),
            recorded("add: every operand is a number; at least one must be a Tensor"));
  EXPECT_EQ(error_of([&] { sum(1); }),
            recorded("sum: every operand is a number; at least one must be a Tensor"));
}

TEST_F(BadInputTest, RejectsEmptyTensors) {
  const Tensor empty;
  EXPECT_EQ(error_of([&] { count + empty; }),
            recorded("the Tensor is empty; assign the result of an op or an input to it first"));
  EXPECT_EQ(error_of([&] { empty.label("name"); }),
            "the Tensor is empty; assign the result of an op or an input to it");
  EXPECT_EQ(error_of([&] { (void)empty.rank(); }),
            "the Tensor is empty; assign the result of an op or an input to it");
}

TEST_F(BadInputTest, RejectsAxesOutOfRange) {
  EXPECT_EQ(
      error_of([&] { sum(x, {2}); }),
      recorded("sum: axis 2 is out of range for f32[128, 64] of rank 2; it must be in [-2, 2)"));
  EXPECT_EQ(
      error_of([&] { softmax(x, -3); }),
      recorded("max: axis -3 is out of range for f32[128, 64] of rank 2; it must be in [-2, 2)"));
  EXPECT_EQ(error_of([&] { max(x, {1, -1}); }), recorded("max: axis -1 is repeated in [1, -1]"));
  EXPECT_EQ(error_of([&] {
              permute(x, {0, 0});
            }),
            recorded("permute: axis 0 is repeated in [0, 0]"));
  EXPECT_EQ(error_of([&] { permute(x, {0}); }),
            recorded("permute: [0] names 1 of the 2 axes of f32[128, 64]"));
}

TEST_F(BadInputTest, RejectsMismatchedShapes) {
  EXPECT_EQ(error_of([&] {
              reshape(x, {100, 64});
            }),
            recorded("reshape: [128, 64] has 8192 elements and [100, 64] has 6400"));
  EXPECT_EQ(error_of([&] {
              reshape(x, {-1, -1});
            }),
            recorded("reshape: [-1, -1] has more than one -1"));
  EXPECT_EQ(error_of([&] {
              reshape(x, {-1, 100});
            }),
            recorded("reshape: [128, 64] has 8192 elements and [-1, 100] has 100"));
  EXPECT_EQ(error_of([&] {
              broadcast_to(x, {128, 128});
            }),
            recorded("broadcast_to: [128, 64] does not broadcast to [128, 128]"));
  EXPECT_EQ(error_of([&] { broadcast_to(x, {64}); }),
            recorded("broadcast_to: [128, 64] does not broadcast to [64]"));
  EXPECT_EQ(error_of([&] { slice(x, 0, 0, 8, 0); }),
            recorded("slice: step 0 must be at least 1; flip(x, {0}) reverses an axis before "
                     "it is sliced"));
  EXPECT_EQ(error_of([&] { slice_scatter(x, 0, 1, 0, 8, -1); }),
            recorded("slice_scatter: step -1 must be at least 1; flip the source along axis 1 to "
                     "write it backwards"));
  EXPECT_EQ(
      error_of([&] { select(x, 1, 64); }),
      recorded(
          "select: index 64 is out of range for axis 1 of f32[128, 64]; it must be in [-64, 64)"));
  EXPECT_EQ(error_of([&] { select_scatter(x, 0, 0, -129); }),
            recorded("select_scatter: index -129 is out of range for axis 0 of f32[128, 64]; it "
                     "must be in [-128, 128)"));
  EXPECT_EQ(
      error_of([&] {
        concat({x, cast(half, f32), half}, 0);
      }),
      recorded(
          "concat: f32[128, 64] and f16[128, 64] do not fit along axis 0; dtype and every other "
          "extent must agree"));
  EXPECT_EQ(error_of([&] { concat({}, 0); }),
            "concat: there are no operands; give at least one Tensor");
  const Tensor indices = graph.input("indices", i64, {3, 64});
  EXPECT_EQ(error_of([&] { take_along_axis(x, indices, 1); }),
            recorded("take_along_axis: [128, 64] and indices [3, 64] must agree in rank and every "
                     "axis but 1"));
}

TEST_F(BadInputTest, RejectsArgmaxOfAnEmptyAxis) {
  const Tensor empty = graph.input("empty", f32, {3, 0});
  EXPECT_EQ(error_of([&] { argmax(empty, 1); }),
            recorded("argmax: axis 1 of f32[3, 0] is empty and has no largest element"));
}

TEST_F(BadInputTest, RejectsNegativeAndHugeShapes) {
  EXPECT_EQ(error_of([&] {
              graph.input("n", f32, {3, -1});
            }),
            recorded("input n: [3, -1] has a negative extent"));
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(error_of([&] {
              graph.input("n", f32, {large, large});
            }),
            recorded("input n: [1099511627776, 1099511627776] has more than 2^60 elements"));
  EXPECT_EQ(error_of([&] {
              full(graph, {large, large}, 0, f32);
            }),
            recorded("full: [1099511627776, 1099511627776] has more than 2^60 elements"));
  EXPECT_EQ(error_of([&] { full(graph, {-1}, 0, f32); }),
            recorded("full: [-1] has a negative extent"));
  const Tensor tall = graph.input("tall", f32, {large, 1});
  const Tensor wide = graph.input("wide", f32, {large});
  EXPECT_EQ(error_of([&] { tall* wide; }),
            recorded("mul: [1099511627776, 1099511627776] has more than 2^60 elements"));
  EXPECT_EQ(error_of([&] { iota(graph, -3); }), recorded("iota: the extent -3 is negative"));
  EXPECT_EQ(error_of([&] { iota(graph, 3, 0, 1, f32); }),
            recorded("iota: the dtype is f32; it must be an integer dtype, cast the result"));
  const std::vector<Extent> ranks(17, 1);
  EXPECT_EQ(error_of([&] { graph.input("n", f32, ranks); }),
            recorded("input n: rank 17 is more than 16"));
  EXPECT_EQ(error_of([&] { reshape(x, ranks); }),
            recorded("reshape: the result has rank 17, more than 16"));
}

TEST_F(BadInputTest, RejectsProvablyNegativeExtents) {
  const Extent rows = graph.extent("rows");
  const Tensor tall = graph.input("tall", f32, {rows, 64});
  EXPECT_EQ(error_of([&] { graph.input("n", f32, {rows * -1}); }),
            recorded("input n: [rows * -1] has a negative extent"));
  EXPECT_EQ(error_of([&] {
              reshape(tall, {rows * -1, -1});
            }),
            recorded("reshape: [rows * -1, -1] has a negative extent"));
  EXPECT_EQ(to_string(slice(tall, 0, rows, 0).shape()), "[0, 64]");
}

TEST_F(BadInputTest, RejectsInvalidInputs) {
  EXPECT_EQ(error_of([&] { graph.input("x", f32, {4}); }),
            recorded("input x: the graph g already has an input of this name (recorded at "
                     "bad_input_test.cpp:#); use another name"));
  EXPECT_EQ(error_of([&] { graph.scalar("x", f32); }),
            recorded("input x: the graph g already has an input of this name (recorded at "
                     "bad_input_test.cpp:#); use another name"));
  EXPECT_EQ(error_of([&] { graph.input("", f32, {4}); }),
            recorded("input: the name is empty; give it one"));
  EXPECT_EQ(error_of([&] {
              graph.input("s", f32, {4, 4}, {.strides = {4}});
            }),
            recorded("input s: 1 strides [4] for a shape of rank 2 [4, 4]"));
}

TEST_F(BadInputTest, RejectsInvalidOutputsAndUpdates) {
  graph.output("y", exp(x));
  EXPECT_EQ(error_of([&] { graph.output("y", x); }),
            recorded("output y: the graph g already has an output of this name (recorded at "
                     "bad_input_test.cpp:#); use another name"));
  EXPECT_EQ(error_of([&] { graph.output("z", 1.0); }),
            recorded("output z: a number is not a Tensor; record it with full"));
  EXPECT_EQ(error_of([&] { graph.output("", x); }),
            recorded("output: the name is empty; give it one"));
  EXPECT_EQ(error_of([&] { graph.update(exp(x), x); }),
            recorded("update: exp is not an input; only an input array can be written in place"));
  EXPECT_EQ(error_of([&] { graph.update(x, half); }),
            recorded("update x: the input is f32[128, 64] but the value is f16[128, 64]"));
  graph.update(x, exp(x));
  EXPECT_EQ(error_of([&] { graph.update(x, log(x)); }),
            recorded("update x: it already has an update (recorded at bad_input_test.cpp:#); "
                     "give one update per input"));
}

TEST_F(BadInputTest, RejectsTensorsOfTwoGraphs) {
  Graph other("other");
  const Tensor y = other.input("y", f32, {128, 64});
  EXPECT_EQ(
      error_of([&] { x + y; }),
      recorded(
          "add: the operands belong to two graphs, g and other; record one program in one Graph"));
  EXPECT_EQ(error_of([&] {
              concat({x, y}, 0);
            }),
            recorded("concat: the operands belong to two graphs, g and other; record one program "
                     "in one Graph"));
  EXPECT_EQ(error_of([&] { graph.output("y", y); }),
            recorded("output y: the value belongs to graph other, not to g"));
  EXPECT_EQ(error_of([&] { graph.update(x, y); }),
            recorded("update: the value belongs to graph other, not to g"));
}

}  // namespace
}  // namespace sinter::bad_input_test
