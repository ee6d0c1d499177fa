// Repeated calls of one executable with changing arrays, scalars, sizes, pointers and threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::executable_calls_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Fixture with y = x * scale + 1.
class ExecutableCalls : public ::testing::Test {
 protected:
  static Graph graph() {
    Graph graph("affine");
    const Extent n = graph.extent("n");
    const Tensor x = graph.input("x", f32, {n});
    const Tensor scale = graph.scalar("scale", f32);
    graph.output("y", x * scale + 1.0);
    return graph;
  }
  Array upload(const std::vector<float>& values) {
    const Array array = device.empty(f32, {static_cast<std::int64_t>(values.size())});
    device.upload(array, values, stream);
    return array;
  }
  std::vector<float> download(const Array& array) { return device.download<float>(array, stream); }

  Device device = host_device();
  Stream stream = device.stream();
  Executable executable = compile(graph(), device, {.tune = Tune::off});
  Context context = executable.context();
};

TEST_F(ExecutableCalls, AllocateUnboundOutputs) {
  const Outputs outputs = context.run(stream, {{"x", upload({1, 2, 3})}, {"scale", 2}});
  EXPECT_EQ(outputs.size(), 1);
  EXPECT_THAT(download(outputs["y"]), ElementsAre(3, 5, 7));
  EXPECT_EQ(outputs[0].pointer(), outputs["y"].pointer());
}

TEST_F(ExecutableCalls, UseNewScalarsAndArrays) {
  const Array y = device.empty(f32, {2});
  context.run(stream, {{"x", upload({1, 2})}, {"scale", 2.0F}}, {{"y", y}});
  EXPECT_THAT(download(y), ElementsAre(3, 5));
  context.run(stream, {{"scale", 3.0F}, {"x", upload({1, 2})}}, {{"y", y}});
  EXPECT_THAT(download(y), ElementsAre(4, 7));
  const Array z = device.empty(f32, {2});
  context.run(stream, {{"x", upload({5, 6})}, {"scale", 3.0F}}, {{"y", z}});
  EXPECT_THAT(download(z), ElementsAre(16, 19));
  EXPECT_THAT(download(y), ElementsAre(4, 7));
}

// The offset of the second concat operand depends on n, so its address argument must be updated.
TEST_F(ExecutableCalls, UseAScalarOfZeroWhenSubBuffersMove) {
  Graph two("two");
  const Extent n = two.extent("n");
  const Tensor a = two.input("a", f32, {n, 128});
  const Tensor b = two.input("b", f32, {n, 128});
  const Tensor scaled = softmax(b, 1) * two.scalar("scale", f32);
  two.output("y", concat({softmax(a, 1), scaled}, 0));
  const Executable both = compile(two, device, {.tune = Tune::off});
  Context calls = both.context();
  const auto run = [&](std::int64_t rows, float scale) {
    const std::vector<float> ones(static_cast<std::size_t>(rows) * 128, 1.0F);
    const Array x = device.empty(f32, {rows, 128});
    device.upload(x, ones, stream);
    std::vector<float> y = download(calls.run(stream, {{"a", x}, {"b", x}, {"scale", scale}})["y"]);
    y.erase(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(ones.size()));
    return y;
  };
  EXPECT_THAT(run(4, 2.0F), Each(2.0F / 128));
  EXPECT_THAT(run(8, 0.0F), Each(0.0F));
}

TEST_F(ExecutableCalls, KeepStateConsistentAfterAFailure) {
  Graph two("two");
  const Tensor x = two.input("x", f32, {1});
  two.output("y", x + two.scalar("rate", f32) + cast(two.scalar("steps", i32), f32));
  Context calls = compile(two, device, {.tune = Tune::off}).context();
  const Array one = upload({1});
  const Array y = device.empty(f32, {1});
  calls.run(stream, {{"x", one}, {"rate", 0.5F}, {"steps", 3}}, {{"y", y}});
  EXPECT_THAT(download(y), ElementsAre(4.5F));
  EXPECT_THROW(calls.run(stream, {{"x", one}, {"rate", 100.0F}, {"steps", 1.5}}, {{"y", y}}),
               UserError);
  calls.run(stream, {{"x", one}, {"rate", 100.0F}, {"steps", 3}}, {{"y", y}});
  EXPECT_THAT(download(y), ElementsAre(104));
}

TEST_F(ExecutableCalls, RepeatPreparedBindings) {
  const Array y = device.empty(f32, {2});
  Bindings bindings = context.bind({{"x", upload({1, 2})}, {"scale", 2.0F}}, {{"y", y}});
  context.run(stream, bindings);
  EXPECT_THAT(download(y), ElementsAre(3, 5));
  bindings.set("scale", 4.0F);
  context.run(stream, bindings);
  EXPECT_THAT(download(y), ElementsAre(5, 9));
  bindings.set("x", upload({0, 1}));
  Context other = executable.context();
  other.replay(stream, bindings);
  EXPECT_THAT(download(y), ElementsAre(1, 5));
}

TEST_F(ExecutableCalls, WorkAfterTheGraphGrew) {
  Graph recorded = graph();
  const Executable early = compile(recorded, device, {.tune = Tune::off});
  const Tensor later = recorded.input("later", f32, {recorded.extent("m")});
  recorded.output("sum", sum(later));
  Context calls = early.context();
  const Outputs outputs = calls.run(stream, {{"x", upload({1, 2, 3})}, {"scale", 2}});
  EXPECT_EQ(outputs.size(), 1);
  EXPECT_THAT(download(outputs["y"]), ElementsAre(3, 5, 7));
}

TEST_F(ExecutableCalls, ShareAVariantWithinASizeClass) {
  EXPECT_THAT(executable.report().variants, IsEmpty());
  (void)context.run(stream, {{"x", upload(std::vector<float>(64))}, {"scale", 2.0F}});
  (void)context.run(stream, {{"x", upload(std::vector<float>(128))}, {"scale", 2.0F}});
  EXPECT_THAT(executable.report().variants, SizeIs(1));
}

TEST_F(ExecutableCalls, PlanAVariantForUnsupportedSizes) {
  Graph biased("biased");
  const Extent columns = biased.extent("columns");
  biased.output("y", biased.input("x", f32, {2, columns}) + biased.input("bias", f32, {columns}));
  const Executable two = compile(biased, device, {.tune = Tune::off});
  Context two_context = two.context();
  const auto run = [&](std::int64_t size) {
    const std::vector<float> ones(static_cast<std::size_t>(size), 1);
    const Array x = device.empty(f32, {2, size});
    device.upload(x, std::vector<float>(ones.size() * 2, 2), stream);
    const Outputs outputs = two_context.run(stream, {{"x", x}, {"bias", upload(ones)}});
    EXPECT_THAT(download(outputs["y"]), Each(3));
  };
  run(64);  // vectors of four
  run(63);  // single elements: rows are not aligned
  run(128);
  const Report report = two.report();
  ASSERT_THAT(report.variants, SizeIs(2));
  EXPECT_EQ(report.variants[0].reason, "the first");
  EXPECT_THAT(report.variants[1].reason, HasSubstr("columns"));
  EXPECT_THAT(report.variants[1].sizes, ElementsAre("columns = 63"));
}

TEST_F(ExecutableCalls, PlanAVariantForLessAlignedPointers) {
  const Array memory = upload({9, 1, 2, 3, 4});
  (void)context.run(stream, {{"x", memory.view(0, f32, {4})}, {"scale", 2.0F}});
  const Outputs outputs = context.run(stream, {{"x", memory.view(4, f32, {4})}, {"scale", 2.0F}});
  EXPECT_THAT(download(outputs["y"]), ElementsAre(3, 5, 7, 9));
  ASSERT_THAT(executable.report().variants, SizeIs(2));
  EXPECT_EQ(executable.report().variants[1].reason,
            "a pointer is a multiple of 4 bytes, not of 16");
  EXPECT_EQ(executable.report().variants[1].alignment, 4);
}

TEST_F(ExecutableCalls, WorkInManyThreadsWithAContextEach) {
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (std::size_t i = 0; i < results.size(); ++i)
    threads.emplace_back([&, i] {
      const Stream own = device.stream();
      Context own_context = executable.context();
      const Array x = device.empty(f32, {64});
      device.upload(x, std::vector<float>(64, static_cast<float>(i)), own);
      const Array y = device.empty(f32, {64});
      for (int k = 0; k < 20; ++k)
        own_context.run(own, {{"x", x}, {"scale", static_cast<float>(k)}}, {{"y", y}});
      results[i] = device.download<float>(y, own);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_THAT(results[i], Each(static_cast<float>(i) * 19 + 1));
  EXPECT_THAT(executable.report().variants, SizeIs(1));
}

TEST(ExecutableContext, RejectsConcurrentUse) {
  // The log callback runs within a call, so it can call again.
  Context* context = nullptr;
  std::string error;
  const Device device = host_device();
  const Stream stream = device.stream();
  const Array x = device.empty(f32, {8});
  const Array y = device.empty(f32, {8});
  Graph graph("g");
  const Extent n = graph.extent("n");
  graph.output("y", exp(graph.input("x", f32, {n})));
  Options options{.tune = Tune::off};
  options.log = [&](std::string_view) {
    error = test::error_of([&] { context->run(stream, {{"x", x}}, {{"y", y}}); });
  };
  const Executable executable = compile(graph, device, options, "model.cpp", 5);
  Context own = executable.context();
  context = &own;
  own.run(stream, {{"x", x}}, {{"y", y}});
  EXPECT_EQ(error,
            "g: another thread is in this Context; make one Context per thread (compiled at "
            "model.cpp:5)");
}

}  // namespace
}  // namespace sinter::executable_calls_test
