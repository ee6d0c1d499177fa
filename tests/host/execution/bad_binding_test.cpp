// Invalid bindings: each is rejected with an error before anything is launched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "tests/support/doubles/null_driver.h"
#include "tests/support/files/errors.h"

namespace sinter::bad_binding_test {
namespace {

using test::error_of;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

/// y[rows, 4] = x * bias + shift
Graph scaled() {
  Graph graph("scaled");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows, 4});
  const Tensor bias = graph.input("bias", f32, {4});
  const Tensor shift = graph.scalar("shift", f32);
  graph.output("y", x * bias + shift);
  return graph;
}

class BadBinding : public ::testing::Test {
 protected:
  std::string run(BindingList inputs, BindingList outputs) {
    const std::string error = error_of([&] { context.run(stream, inputs, outputs); });
    EXPECT_EQ(host::calls("cuLaunchKernelEx"), launches_before) << "something was launched";
    return error;
  }
  /// Runs with valid arguments except x.
  std::string run_with_x(const Array& bad) {
    return run({{"x", bad}, {"bias", bias}, {"shift", 1.0F}}, {{"y", y}});
  }

  Device device = host_device();
  Stream stream = device.stream();
  Executable executable = compile(scaled(), device, {.tune = Tune::off}, "model.cpp", 7);
  Context context = executable.context();
  Array x = device.empty(f32, {3, 4});
  Array bias = device.empty(f32, {4});
  Array y = device.empty(f32, {3, 4});
  std::uint64_t launches_before = host::calls("cuLaunchKernelEx");
};

TEST_F(BadBinding, MissingInput) {
  EXPECT_EQ(run({{"x", x}, {"shift", 1.0F}}, {{"y", y}}),
            "scaled: input bias is not bound; bind an array of f32[4] (compiled at model.cpp:7)");
}

TEST_F(BadBinding, MissingScalar) {
  EXPECT_EQ(run({{"x", x}, {"bias", bias}}, {{"y", y}}),
            "scaled: scalar shift is not bound; bind a number (compiled at model.cpp:7)");
}

TEST_F(BadBinding, MissingOutput) {
  EXPECT_EQ(
      run({{"x", x}, {"bias", bias}, {"shift", 1.0F}}, {}),
      "scaled: output y is not bound; bind an array of f32[rows, 4] (compiled at model.cpp:7)");
}

TEST_F(BadBinding, UnknownName) {
  EXPECT_EQ(
      run({{"x", x}, {"bais", bias}, {"shift", 1.0F}}, {{"y", y}}),
      "scaled: there is no input bais; the inputs are x, bias, shift (compiled at model.cpp:7)");
  EXPECT_EQ(run({{"x", x}, {"bias", bias}, {"shift", 1.0F}}, {{"z", y}}),
            "scaled: there is no output z; the outputs are y (compiled at model.cpp:7)");
}

TEST_F(BadBinding, NameBoundTwice) {
  EXPECT_EQ(run({{"x", x}, {"x", x}, {"bias", bias}, {"shift", 1.0F}}, {{"y", y}}),
            "scaled: input x is bound twice; bind it once (compiled at model.cpp:7)");
}

TEST_F(BadBinding, NumberForAnArray) {
  EXPECT_EQ(run({{"x", x}, {"bias", 2}, {"shift", 1.0F}}, {{"y", y}}),
            "scaled: input bias is bound to the number 2; bind an array of f32[4] (compiled at "
            "model.cpp:7)");
}

TEST_F(BadBinding, ArrayForANumber) {
  EXPECT_EQ(run({{"x", x}, {"bias", bias}, {"shift", bias}}, {{"y", y}}),
            "scaled: scalar shift is bound to an array; bind a number (compiled at model.cpp:7)");
}

TEST_F(BadBinding, WrongDType) {
  EXPECT_EQ(
      run_with_x(device.empty(f64, {3, 4})),
      "scaled: input x is f32[rows, 4] but bound to f64[3, 4]; bind an array of f32 (compiled "
      "at model.cpp:7)");
}

TEST_F(BadBinding, WrongRank) {
  EXPECT_EQ(
      run_with_x(device.empty(f32, {12})),
      "scaled: input x is f32[rows, 4] but bound to f32[12]; bind an array of rank 2 (compiled "
      "at model.cpp:7)");
}

TEST_F(BadBinding, WrongExtent) {
  EXPECT_EQ(
      run_with_x(device.empty(f32, {3, 5})),
      "scaled: input x is f32[rows, 4] but bound to f32[3, 5]: the extent of axis 1 must be 4 "
      "(compiled at model.cpp:7)");
}

TEST_F(BadBinding, InconsistentSizes) {
  EXPECT_EQ(
      run_with_x(device.empty(f32, {5, 4})),
      "scaled: output y is f32[rows, 4] but bound to f32[3, 4]: the extent of axis 0 must be 5, "
      "since rows is 5 by input x (compiled at model.cpp:7)");
}

TEST_F(BadBinding, SizesWithoutSolution) {
  Graph graph("halves");
  const Extent n = graph.extent("n");
  graph.output("y", sum(graph.input("x", f32, {n * 2})));
  const Executable halves = compile(graph, device, {.tune = Tune::off}, "model.cpp", 9);
  Context halves_context = halves.context();
  EXPECT_EQ(
      error_of([&] {
        (void)halves_context.run(stream, {{"x", device.empty(f32, {5})}});
      }),
      "halves: input x is f32[n * 2] but bound to f32[5]: the extent of axis 0 is 5, which is not "
      "n * 2 for any n (compiled at model.cpp:9)");
}

TEST_F(BadBinding, WrongStrides) {
  EXPECT_EQ(run_with_x(device.empty(f32, {3, 8}).view(0, f32, {3, 4}, {8, 1})),
            "scaled: input x is row-major but bound to f32[3, 4] with strides [8, 1]; bind a "
            "row-major copy, or record the input with these strides (compiled at model.cpp:7)");
}

TEST_F(BadBinding, StridesOtherThanRecorded) {
  Graph graph("strided");
  graph.output("y", graph.input("x", f32, {3, 4}, {.strides = {8, 1}}) + 1.0);
  const Executable strided = compile(graph, device, {.tune = Tune::off}, "model.cpp", 9);
  Context strided_context = strided.context();
  EXPECT_EQ(
      error_of([&] {
        (void)strided_context.run(stream, {{"x", x}});
      }),
      "strided: input x is f32[3, 4] but bound to f32[3, 4] with strides [4, 1]: the stride of "
      "axis 0 must be 8 (compiled at model.cpp:9)");
}

TEST_F(BadBinding, NullPointer) {
  EXPECT_EQ(
      run_with_x(Array::wrap(nullptr, f32, {3, 4}, device)),
      "scaled: input x is bound to f32[3, 4] at a null pointer; bind device memory of 48 bytes "
      "(compiled at model.cpp:7)");
}

TEST_F(BadBinding, MemoryTooSmall) {
  EXPECT_THAT(
      run_with_x(Array::wrap(bias.pointer(), f32, {3, 4}, device)),
      MatchesRegex("scaled: input x is bound to f32\\[3, 4\\] at 0x[0-9a-f]+, which needs 48 "
                   "bytes, but its memory ends after 16; bind a larger one \\(compiled at "
                   "model.cpp:7\\)"));
}

TEST_F(BadBinding, MemoryUnknownToTheDevice) {
  std::array<float, 12> elsewhere{};
  EXPECT_THAT(run_with_x(Array::wrap(elsewhere.data(), f32, {3, 4}, device)),
              MatchesRegex("scaled: input x is bound to f32\\[3, 4\\] at 0x[0-9a-f]+, which is not "
                           "memory of .*; bind device memory, or upload the data first "
                           "\\(compiled at model.cpp:7\\)"));
}

TEST_F(BadBinding, MisalignedPointer) {
  EXPECT_THAT(run_with_x(device.empty(boolean, {64}).view(2, f32, {3, 4})),
              MatchesRegex("scaled: input x is bound to f32\\[3, 4\\] at 0x[0-9a-f]+, which is not "
                           "a multiple of the 4 bytes of an element; align it \\(compiled at "
                           "model.cpp:7\\)"));
}

TEST_F(BadBinding, AnotherDevice) {
  DeviceState other(test::null_driver(), 0);
  other.name = "other";
  const Array array = Device(&other).empty(f32, {3, 4});
  EXPECT_EQ(run_with_x(array),
            "scaled: input x is on device other (null:0) but the program was compiled for " +
                std::string(device.name()) + " (host:0); copy it there (compiled at model.cpp:7)");
}

TEST_F(BadBinding, StreamOfAnotherDevice) {
  DeviceState other(test::null_driver(), 0);
  other.name = "other";
  const Stream other_stream = Device(&other).stream();
  EXPECT_EQ(error_of([&] {
              context.run(other_stream, {{"x", x}, {"bias", bias}, {"shift", 1.0F}}, {{"y", y}});
            }),
            "scaled: the stream is on device other (null:0) but the program was compiled for " +
                std::string(device.name()) +
                " (host:0); take a stream of that device (compiled at model.cpp:7)");
}

TEST_F(BadBinding, OutputOverlapsAnInput) {
  const Array memory = device.empty(f32, {6, 4});
  EXPECT_THAT(
      run({{"x", memory.view(0, f32, {3, 4})}, {"bias", bias}, {"shift", 1.0F}},
          {{"y", memory.view(32, f32, {3, 4})}}),
      MatchesRegex("scaled: output y is written, but its 48 bytes at 0x[0-9a-f]+ overlap the "
                   "48 bytes at 0x[0-9a-f]+ of input x; bind arrays that do not overlap, or record "
                   "graph.update to write in place \\(compiled at model.cpp:7\\)"));
}

TEST_F(BadBinding, UpdateOverlapsAnotherInput) {
  Graph graph("step");
  const Tensor p = graph.input("p", f32, {4});
  graph.update(p, p - graph.input("g", f32, {4}));
  const Executable step = compile(graph, device, {.tune = Tune::off}, "model.cpp", 9);
  Context step_context = step.context();
  EXPECT_THAT(
      error_of([&] {
        step_context.run(stream, {{"p", bias}, {"g", bias}}, {});
      }),
      MatchesRegex("step: input p is written, but its 16 bytes at 0x[0-9a-f]+ overlap the 16 "
                   "bytes at 0x[0-9a-f]+ of input g; bind arrays that do not overlap \\(compiled "
                   "at model.cpp:9\\)"));
}

TEST_F(BadBinding, NumbersOutOfRange) {
  Graph graph("counts");
  const Tensor n = graph.scalar("n", i32);
  graph.output("y", graph.input("x", i32, {4}) + n);
  const Executable counts = compile(graph, device, {.tune = Tune::off}, "model.cpp", 9);
  Context counts_context = counts.context();
  const Array ints = device.empty(i32, {4});
  const auto run_with = [&](auto number) {
    return error_of([&] { (void)counts_context.run(stream, {{"x", ints}, {"n", number}}); });
  };
  EXPECT_EQ(run_with(0.5),
            "counts: scalar n is i32 but bound to 0.5; bind a whole number (compiled "
            "at model.cpp:9)");
  EXPECT_EQ(run_with(std::int64_t{1} << 40),
            "counts: scalar n is i32 but bound to 1099511627776; bind a number from -2147483648 to "
            "2147483647 (compiled "
            "at model.cpp:9)");
}

/// Intermediate sizes that do not fit in 64 bits.
TEST_F(BadBinding, SizesThatOverflow) {
  Graph graph("far");
  const Extent m = graph.extent("m"), n = graph.extent("n");
  const Extent far = m - n - std::numeric_limits<std::int64_t>::max();
  const Tensor a = graph.input("a", f32, {m});
  graph.input("b", f32, {far});
  graph.output("c", a + 1);
  const Executable program = compile(graph, device, {.tune = Tune::off});
  Context run_of_it = program.context();
  const Array none = device.empty(f32, {0}), one = device.empty(f32, {1});
  EXPECT_THAT(
      error_of([&] {
        run_of_it.run(stream, {{"a", none}, {"b", one}}, {{"c", none}});
      }),
      ::testing::AllOf(StartsWith("far: input b is f32["), ::testing::HasSubstr(" for any n")));
}

TEST_F(BadBinding, ContextWorksAfterAFailedCall) {
  EXPECT_THAT(run_with_x(device.empty(f32, {3, 5})), StartsWith("scaled: input x"));
  context.run(stream, {{"x", x}, {"bias", bias}, {"shift", 1.0F}}, {{"y", y}});
  stream.synchronize();
  EXPECT_EQ(host::calls("cuLaunchKernelEx"), launches_before + 1);
}

TEST_F(BadBinding, BindingsOfAnotherProgram) {
  const Executable other = compile(scaled(), device, {.tune = Tune::off}, "model.cpp", 8);
  const Bindings bindings =
      other.context().bind({{"x", x}, {"bias", bias}, {"shift", 1.0F}}, {{"y", y}});
  EXPECT_EQ(
      error_of([&] { context.run(stream, bindings); }),
      "scaled: the Bindings were made for scaled, compiled at model.cpp:8; bind in a Context of "
      "this program (compiled at model.cpp:7)");
}

TEST_F(BadBinding, FailedSetsKeepPreparedBindings) {
  Bindings bindings = context.bind({{"x", x}, {"bias", bias}, {"shift", 1.0F}}, {{"y", y}});
  EXPECT_EQ(
      error_of([&] {
        bindings.set("x", device.empty(f32, {3, 5}));
      }),
      "scaled: input x is f32[rows, 4] but bound to f32[3, 5]: the extent of axis 1 must be 4 "
      "(compiled at model.cpp:7)");
  EXPECT_EQ(error_of([&] { bindings.set("shfit", 1.0F); }),
            "scaled: there is no input or output shfit; there are x, bias, shift, y (compiled at "
            "model.cpp:7)");
  context.run(stream, bindings);
  stream.synchronize();
  EXPECT_EQ(host::calls("cuLaunchKernelEx"), launches_before + 1);
}

TEST_F(BadBinding, UnknownOutputs) {
  const Outputs outputs = context.run(stream, {{"x", x}, {"bias", bias}, {"shift", 1.0F}});
  EXPECT_EQ(error_of([&] { (void)outputs["z"]; }),
            "outputs of scaled: there is no output z; there are y");
  EXPECT_EQ(error_of([&] { (void)outputs[1]; }),
            "outputs of scaled: there is no output 1; there are 1, counted from 0");
}

}  // namespace
}  // namespace sinter::bad_binding_test
