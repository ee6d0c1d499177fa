// Outputs that are plain views of other arrays, if the run allocates its outputs and if the caller
// binds arrays to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"
#include "tests/support/run/run.h"

namespace sinter::test::output_view_host_test {
namespace {

using ::testing::ElementsAre;

class OutputViews : public ::testing::Test {
 protected:
  Array counting(Sizes shape) const {
    const Array array = device.empty(f32, shape);
    std::vector<float> values(static_cast<std::size_t>(array.elements()));
    std::iota(values.begin(), values.end(), 0.0F);
    device.upload(array, values, stream);
    return array;
  }
  Context context_of(std::string_view text) const {
    return compile(parse(text, "g.sinter"), device, quick, "model.cpp", 7).context();
  }
  std::vector<float> values(const Array& array) const {
    return device.download<float>(array, stream);
  }
  static const std::byte* at(const Array& array) {
    return static_cast<const std::byte*>(array.pointer());
  }

  const Options quick{.tune = Tune::off};
  const Device device = host_device();
  const Stream stream = device.stream();
};

TEST_F(OutputViews, OfInputsLaunchNothing) {
  Context context = context_of(R"(
graph views(x: f32[n, 6]) {
  t = permute x {axes = [1, 0]}
  r = reshape x {shape = [n, 2, 3]}
  s = slice t {axis = 0, begin = 1, end = 6, step = 2}
  w = unfold x {axis = 1, size = 3, step = 1}
  b = broadcast_to r {shape = [4, n, 2, 3]}
  return same = x, t, r, s, w, b
})");
  const Array x = counting({2, 6});
  const Outputs outputs = context.run(stream, {{"x", x}});
  EXPECT_EQ(context.counters().kernel_launches, 0);
  EXPECT_EQ(outputs["same"].pointer(), x.pointer());
  EXPECT_EQ(outputs["t"].pointer(), x.pointer());
  EXPECT_THAT(outputs["t"].strides(), ElementsAre(1, 6));
  EXPECT_THAT(outputs["r"].strides(), ElementsAre(6, 3, 1));
  EXPECT_EQ(at(outputs["s"]), at(x) + 4);
  EXPECT_THAT(outputs["s"].strides(), ElementsAre(2, 6));
  EXPECT_THAT(values(outputs["s"]), ElementsAre(1, 7, 3, 9, 5, 11));
  EXPECT_THAT(outputs["w"].strides(), ElementsAre(6, 1, 1));
  EXPECT_THAT(outputs["b"].strides(), ElementsAre(0, 6, 3, 1));
  EXPECT_EQ(values(outputs["b"]).size(), 48U);
  // Views of an empty array.
  EXPECT_EQ(context.run(stream, {{"x", device.empty(f32, {0, 6})}})["s"].elements(), 0);
}

TEST_F(OutputViews, OfOtherOutputsAreWrittenOnce) {
  Context context = context_of(R"(
graph views(x: f32[4, 6]) {
  y = neg x
  t = permute y {axes = [1, 0]}
  last = slice y {axis = 0, begin = 3, end = 4}
  return t, y, last, again = y
})");
  const Outputs outputs = context.run(stream, {{"x", counting({4, 6})}});
  EXPECT_EQ(context.counters().kernel_launches, 1);
  EXPECT_EQ(outputs["t"].pointer(), outputs["y"].pointer());
  EXPECT_EQ(outputs["again"].pointer(), outputs["y"].pointer());
  EXPECT_EQ(at(outputs["last"]), at(outputs["y"]) + 3 * 6 * 4);
  EXPECT_THAT(values(outputs["last"]), ElementsAre(-18, -19, -20, -21, -22, -23));
}

TEST_F(OutputViews, KeepTheirMemoryAlive) {
  Context context = context_of(R"(
graph views(x: f32[2, 3]) {
  y = neg x
  t = permute y {axes = [1, 0]}
  return y, t
})");
  const Array t = context.run(stream, {{"x", counting({2, 3})}})["t"];
  EXPECT_THAT(values(t), ElementsAre(0, -3, -1, -4, -2, -5));
}

TEST_F(OutputViews, AreWrittenIfArraysAreBound) {
  const char* const text = R"(
graph views(x: f32[4, 6]) {
  y = neg x
  t = permute y {axes = [1, 0]}
  u = permute x {axes = [1, 0]}
  return y, t, u
})";
  Context context = context_of(text);
  const Array x = counting({4, 6}), y = device.empty(f32, {4, 6}), t = device.empty(f32, {6, 4});
  context.run(stream, {{"x", x}}, {{"y", y}});
  EXPECT_EQ(context.counters().kernel_launches, 1);
  context.run(stream, {{"x", x}}, {{"y", y}, {"t", t}});
  EXPECT_THAT(values(t), ::testing::Contains(-23).Times(1));
  context.replay(stream, {{"x", x}}, {{"y", y}, {"t", t}});
  context.replay(stream, {{"x", x}}, {{"y", y}});
  Bindings bindings = context.bind({{"x", x}}, {{"y", y}});
  bindings.set("u", t);
  context.run(stream, bindings);
  EXPECT_EQ(values(t)[1], 6);
  // An output that is not a view must be bound.
  EXPECT_EQ(error_of([&] {
              context.run(stream, {{"x", x}}, {{"t", t}});
            }),
            "views: output y is not bound; bind an array of f32[4, 6] (compiled at model.cpp:7)");
  run_and_check(text);
}

TEST_F(OutputViews, AreBoundAfterPreparation) {
  const Executable executable =
      compile(parse("graph g(x: f32[4, 6]) {\n  y = neg x\n  return y, z = y\n}\n", "g.sinter"),
              device, quick);
  executable.prepare({}, Views::written);
  ASSERT_EQ(executable.report().variants.size(), 2U);
  EXPECT_EQ(executable.report().variants[1].reason, "a different set of view outputs is written");
  EXPECT_EQ(executable.report().variants[0].kernels.at(0).bytes_written, 4 * 6 * 4);
  EXPECT_EQ(executable.report().variants[1].kernels.at(0).bytes_written, 2 * 4 * 6 * 4);
  Context context = executable.context();
  const Array x = counting({4, 6});
  context.run(stream, {{"x", x}},
              {{"y", device.empty(f32, {4, 6})}, {"z", device.empty(f32, {4, 6})}});
  EXPECT_EQ(executable.report().variants.size(), 2U);
}

TEST_F(OutputViews, OtherOutputsAreCopied) {
  Context context = context_of(R"(
graph none(x: f32[4, 6], w: f32[4, 6]) {
  backwards = flip x {axes = [0]}
  columns = permute x {axes = [1, 0]}
  cut = reshape columns {shape = [24]}
  old = permute w {axes = [1, 0]}
  next = add w, x
  wide = cast x {to = f64}
  update w, next
  return backwards, cut, old, wide, strided = x {strides = [8, 1]}, next
})");
  const Array x = counting({4, 6}), w = counting({4, 6});
  const Outputs outputs = context.run(stream, {{"x", x}, {"w", w}});
  for (int i = 0; i < outputs.size(); ++i) {
    EXPECT_NE(outputs[i].pointer(), x.pointer()) << i;
    EXPECT_NE(outputs[i].pointer(), w.pointer()) << i;
  }
  // The contents of w before the update.
  EXPECT_EQ(values(outputs["old"])[1], 6);
  EXPECT_EQ(values(w)[6], 12);
  EXPECT_EQ(values(outputs["cut"])[1], 6);
}

TEST_F(OutputViews, OfStridedOutputs) {
  Context context = context_of(R"(
graph strided(x: f32[2, 3]) {
  y = neg x
  t = permute y {axes = [1, 0]}
  return again = y, y {strides = [5, 1]}, t
})");
  const Outputs outputs = context.run(stream, {{"x", counting({2, 3})}});
  EXPECT_THAT(outputs["again"].strides(), ElementsAre(5, 1));
  EXPECT_THAT(outputs["t"].strides(), ElementsAre(1, 5));
  EXPECT_THAT(values(outputs["t"]), ElementsAre(0, -3, -1, -4, -2, -5));
}

}  // namespace
}  // namespace sinter::test::output_view_host_test
