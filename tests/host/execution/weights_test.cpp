// Executable::with_weights: every kind of call uses the weights for inputs that it leaves unbound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <thread>

#include "sinter/sinter.h"
#include "tests/support/doubles/stream_capture.h"
#include "tests/support/files/errors.h"
#include "tests/support/run/run.h"

namespace sinter::test::weights_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

using Floats = std::vector<float>;

/// y = x * scale + shift, and total += the column sums of y.
constexpr std::string_view kModel = R"(
graph model(x: f32[rows, n], scale: f32[n], shift: f32, total: f32[n]) {
  s = mul x, scale
  y = add s, shift
  c = sum y {axes = [0]}
  t = add total, c
  update total, t
  return y
})";

class WeightsTest : public ::testing::Test {
 protected:
  Array array(const Floats& values, std::vector<std::int64_t> shape) const {
    const Array result = device.empty(f32, shape);
    device.upload(result, values, stream);
    return result;
  }
  Array array(const Floats& values) const {
    return array(values, {static_cast<std::int64_t>(values.size())});
  }
  Floats read(const Array& array) const { return device.download<float>(array, stream); }

  const Device device = host_device();
  const Stream stream = device.stream();
  const Executable plain = compile(parse(kModel, "model.sinter"), device,
                                   {.tune = Tune::off, .optimize_host = false}, "model.cpp", 7);
  const Array x = array({1, 2, 3, 4}, {2, 2});
  const Array y = device.empty(f32, {2, 2});
  const Array scale = array({10, 100});
  const Array total = array({0, 0});
  const Executable model =
      plain.with_weights({{"scale", scale}, {"shift", 1.0F}, {"total", total}});
  const Floats answer = {11, 201, 31, 401};
};

TEST_F(WeightsTest, ServeEveryKindOfCall) {
  Context context = model.context();
  const auto expect_answer = [&](const Array& result) {
    EXPECT_EQ(read(result), answer);
    device.upload(result, Floats(4, -1), stream);
  };
  context.run(stream, {{"x", x}}, {{"y", y}});
  expect_answer(y);
  context.replay(stream, {{"x", x}}, {{"y", y}});
  expect_answer(y);
  expect_answer(context.run(stream, {{"x", x}})["y"]);
  const Bindings bindings = context.bind({{"x", x}}, {{"y", y}});
  context.run(stream, bindings);
  expect_answer(y);
  context.replay(stream, bindings);
  expect_answer(y);
  profile(context, bindings, {.repeats = 1, .stream = stream});
  expect_answer(y);
  profile(context, {{"x", x}}, {{"y", y}}, {.repeats = 1, .stream = stream});
  expect_answer(y);
  EXPECT_EQ(read(total), (Floats{5 * 42, 5 * 602})) << "five runs updated it, no profile did";
}

TEST_F(WeightsTest, ServeCapturedRunsThatOutliveThem) {
  std::optional<Executable> mine =
      plain.with_weights({{"scale", array({10, 100})}, {"shift", 1.0F}, {"total", array({0, 0})}});
  std::optional<Context> context = mine->context();
  const UserGraph captured(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
    context->run(stream, {{"x", x}}, {{"y", y}});
  });
  context.reset();
  mine.reset();
  captured.launch(stream);
  EXPECT_EQ(read(y), answer);
}

TEST_F(WeightsTest, GiveWayToBoundInputs) {
  Context context = model.context();
  const Array ones = array({1, 1});
  context.run(stream, {{"scale", ones}, {"x", x}}, {{"y", y}});
  EXPECT_EQ(read(y), (Floats{2, 3, 4, 5}));
  context.run(stream, {{"x", x}, {"shift", 0.0F}}, {{"y", y}});
  EXPECT_EQ(read(y), (Floats{10, 200, 30, 400}));
  const Array other = array({0, 0});
  context.run(stream, {{"x", x}, {"total", other}, {"scale", ones}, {"shift", 0.0F}}, {{"y", y}});
  EXPECT_EQ(read(y), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(read(other), (Floats{4, 6}));
  context.run(stream, {{"x", x}}, {{"y", y}});
  EXPECT_EQ(read(y), answer) << "the weights are used again";
  Bindings bindings = context.bind({{"x", x}}, {{"y", y}});
  bindings.set("scale", ones);
  context.run(stream, bindings);
  EXPECT_EQ(read(y), (Floats{2, 3, 4, 5}));
}

TEST_F(WeightsTest, AreAddedAndReplaced) {
  const Executable half = plain.with_weights({{"scale", array({1, 1})}, {"total", total}});
  EXPECT_EQ(test::error_of([&] {
              half.context().run(stream, {{"x", x}}, {{"y", y}});
            }),
            "model: scalar shift is not bound; bind a number (compiled at model.cpp:7)");
  const Executable whole = half.with_weights({{"shift", 1.0F}, {"scale", scale}});
  whole.context().run(stream, {{"x", x}}, {{"y", y}});
  EXPECT_EQ(read(y), answer);
  EXPECT_EQ(read(half.weight("scale")), (Floats{1, 1})) << "an executable does not change";
  EXPECT_EQ(test::error_of([&] {
              plain.context().run(stream, {{"x", x}}, {{"y", y}});
            }),
            "model: input scale is not bound; bind an array of f32[n] (compiled at model.cpp:7)");
}

TEST_F(WeightsTest, ShareKernels) {
  model.context().run(stream, {{"x", x}}, {{"y", y}});
  const std::int64_t plans = counters().plans;
  const Executable other =
      plain.with_weights({{"scale", array({1, 1})}, {"shift", 0.0F}, {"total", total}});
  other.context().run(stream, {{"x", x}}, {{"y", y}});
  EXPECT_EQ(counters().plans, plans);
  EXPECT_THAT(plain.report().variants, SizeIs(1));
  // Bindings keep the weights that they were made with.
  const Bindings bindings = other.context().bind({{"x", x}}, {{"y", y}});
  model.context().run(stream, bindings);
  EXPECT_EQ(read(y), (Floats{1, 2, 3, 4}));
}

TEST_F(WeightsTest, AreStateOfTheExecutableIfUpdated) {
  Context first = model.context();
  first.run(stream, {{"x", x}}, {{"y", y}});
  Context second = model.context();
  second.replay(stream, {{"x", x}}, {{"y", y}});
  EXPECT_THAT(read(model.weight("total")), ElementsAre(2 * 42, 2 * 602));
  EXPECT_EQ(test::error_of([&] {
              plain.with_weights({{"total", total.read_only()}});
            }),
            "model: input total is written but bound to f32[2], which is read-only; bind a "
            "writable array, or a copy (compiled at model.cpp:7)");
}

TEST_F(WeightsTest, GiveOutputsThatAreViewsOfThem) {
  const Executable views = compile(parse(R"(
graph views(x: f32[n], table: f32[2, 3]) {
  t = permute table {axes = [1, 0]}
  y = neg x
  return y, t
})"),
                                   device, {.tune = Tune::off, .optimize_host = false});
  const Array table = array({1, 2, 3, 4, 5, 6}, {2, 3});
  const Executable with = views.with_weights({{"table", table.read_only()}});
  const Outputs outputs = with.context().run(stream, {{"x", array({1})}});
  EXPECT_EQ(read(outputs["t"]), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_TRUE(outputs["t"].is_read_only());
}

TEST_F(WeightsTest, GiveSizes) {
  const Executable sized = compile(parse(R"(
graph sized(k: f32, w: f32[n]) {
  y = mul w, k
  return y
})"),
                                   device, {.tune = Tune::off, .optimize_host = false});
  const Executable with = sized.with_weights({{"w", array({1, 2, 3})}});
  EXPECT_EQ(read(with.context().run(stream, {{"k", 2.0F}})["y"]), (Floats{2, 4, 6}));
}

TEST_F(WeightsTest, AreCheckedAtOnce) {
  const auto error = [&](BindingList weights) {
    return test::error_of([&] { plain.with_weights(weights); });
  };
  const std::string here = " (compiled at model.cpp:7)";
  EXPECT_EQ(error({{"bias", scale}}),
            "model: there is no input bias; the inputs are x, scale, shift, total" + here);
  EXPECT_EQ(error({{"y", y}}),
            "model: there is no input y; the inputs are x, scale, shift, total" + here);
  EXPECT_EQ(error({{"scale", scale}, {"scale", scale}}),
            "model: input scale is bound twice; bind it once" + here);
  EXPECT_EQ(error({{"scale", 1}}),
            "model: input scale is bound to the number 1; bind an array of f32[n]" + here);
  EXPECT_EQ(error({{"shift", scale}}),
            "model: scalar shift is bound to an array; bind a number" + here);
  EXPECT_EQ(error({{"scale", device.empty(f16, {2})}}),
            "model: input scale is f32[n] but bound to f16[2]; bind an array of f32" + here);
  EXPECT_EQ(error({{"scale", x}}),
            "model: input scale is f32[n] but bound to f32[2, 2]; bind an array of rank 1" + here);
  EXPECT_EQ(error({{"scale", scale}, {"total", array({1, 2, 3})}}),
            "model: input total is f32[n] but bound to f32[3]: the extent of axis 0 must be 2, "
            "since n is 2 by input scale" +
                here);
  EXPECT_EQ(error({{"scale", host_device(1).empty(f32, {2})}}),
            "model: input scale is on device host device (host:1) but the program was compiled for "
            "host device (host:0); copy it there" +
                here);
  EXPECT_EQ(error({{"scale", Array::wrap(nullptr, f32, {2}, device)}}),
            "model: input scale is bound to f32[2] at a null pointer; bind device memory of 8 "
            "bytes" +
                here);
  EXPECT_EQ(error({{"scale", total}, {"total", total}}).substr(0, 34),
            "model: input total is written, but");
}

TEST_F(WeightsTest, AreCheckedWithTheInputsOfACall) {
  const Executable with =
      plain.with_weights({{"scale", array({1, 2, 3})}, {"shift", 1}, {"total", array({0, 0, 0})}});
  EXPECT_EQ(test::error_of([&] {
              with.context().run(stream, {{"x", x}}, {{"y", y}});
            }),
            "model: input scale is f32[n] but bound to f32[3]: the extent of axis 0 must be 2, "
            "since n is 2 by input x (compiled at model.cpp:7)");
}

TEST_F(WeightsTest, AreFoundByName) {
  EXPECT_EQ(read(model.weight("scale")), (Floats{10, 100}));
  EXPECT_EQ(test::error_of([&] { model.weight("shift"); }),
            "model: there is no weight shift; the arrays among the weights are scale, total "
            "(compiled at model.cpp:7)");
  EXPECT_EQ(test::error_of([&] { plain.weight("scale"); }),
            "model: there is no weight scale; bind arrays by with_weights (compiled at "
            "model.cpp:7)");
}

/// Contexts of several threads share weights that no run updates.
TEST_F(WeightsTest, ServeThreads) {
  const Executable shared = compile(parse(R"(
graph layer(x: f32[rows, 64], w: f32[64]) {
  p = mul x, w
  y = sum p {axes = [-1]}
  return y
})"),
                                    device, {.tune = Tune::off, .optimize_host = false})
                                .with_weights({{"w", array(Floats(64, 0.5F))}});
  const auto answer_for = [&](std::int64_t rows) {
    const Stream own = device.stream();
    const Array xs = device.empty(f32, {rows, 64});
    device.upload(xs, Floats(static_cast<std::size_t>(rows * 64), static_cast<float>(rows)), own);
    Context context = shared.context();
    Floats result;
    for (int i = 0; i < 50; ++i)
      result = device.download<float>(context.run(own, {{"x", xs}})["y"], own);
    return result;
  };
  std::vector<Floats> answers(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < answers.size(); ++i)
    threads.emplace_back([&, i] { answers[i] = answer_for(static_cast<std::int64_t>(i + 1)); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_THAT(answers[i], SizeIs(i + 1));
    EXPECT_THAT(answers[i], Each(32.0F * static_cast<float>(i + 1)));
  }
}

}  // namespace
}  // namespace sinter::test::weights_test
