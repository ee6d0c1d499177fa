// Runs within a stream capture of the user. They become part of the user's CUDA Graph and give the
// same bits at each launch.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>
#include <stdexcept>

#include "tests/host/execution/captured_fixture.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/lists.h"

namespace sinter::test::captured_run_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(CapturedRun, LaunchesMatchPlainRuns) {
  for (const CapturedProgram& program : captured_programs())
    for (const CUstreamCaptureMode mode : kCaptureModes)
      for (const bool as_graph : {false, true})
        check_captured(program, device, mode, as_graph, /*is_cold=*/false, options);
}

TEST_F(CapturedRun, CapturesForeachUpdates) {
  // The table of 18 tensors is a parameter, that of 100 is in device memory.
  for (const int tensors : {18, 100})
    for (const CUstreamCaptureMode mode : kCaptureModes)
      check_captured({.name = "lists", .text = adamw_text(tensors)}, device, mode,
                     /*as_graph=*/true, /*is_cold=*/false, options);
}

/// Plans, compiles, loads and tunes within the capture.
TEST_F(CapturedRun, CapturesTheFirstRun) {
  int number = 0;
  for (const CUstreamCaptureMode mode : kCaptureModes)
    check_captured(
        {.name = "cold",
         .text = fmt::format("graph cold(x: f32[n]) {{\n  e = mul x, 0.{}3\n"
                             "  y = sum e\n  return y\n}}\n",
                             ++number),
         .symbols = {5000}},
        device, mode, /*as_graph=*/number % 2 == 0, /*is_cold=*/true,
        {.tune = Tune::quick, .cache = {.mode = CacheMode::off}, .optimize_host = false});
}

TEST_F(CapturedRun, FunctionsAreCalledOnceAndTheirWorkRunsEachTime) {
  const Registered plus("plus", function());
  for (const CUstreamCaptureMode mode : kCaptureModes)
    for (const bool as_graph : {false, true})
      check_captured({.name = "call", .text = kAdd, .symbols = {50}}, device, mode, as_graph,
                     /*is_cold=*/false, options);
  Context context = compile(parse(kAdd), device, options).context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  calls = 0;
  const UserGraph captured(stream, kGlobal, [&] {
    context.run(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
  });
  EXPECT_EQ(calls, 1);
  for (const float more : {0.0F, 5.0F, 9.0F}) {
    device.upload(x, std::vector<float>{1 + more, 2, 3}, stream);
    captured.launch(stream);
    EXPECT_THAT(download(z), ElementsAre(-3 - 2 * more, -5, -7));
    // Other runs of the same Context do not affect the graph.
    context.run(stream, {{"x", x}, {"term", 100.0F}}, {{"z", z}});
    context.replay(stream, {{"x", x}, {"term", 200.0F}}, {{"z", z}});
  }
  EXPECT_GT(calls, 1);
}

/// Host work of a user's function lives as long as the user's graph.
TEST_F(CapturedRun, HostWorkLivesAsLongAsTheGraph) {
  const auto counted = std::make_shared<int>(0);
  const Registered plus("plus", {.enqueue = [counted](const OpaqueCall& call) {
                          const HostElements x(call.inputs[0]);
                          const HostElements y(call.outputs[0]);
                          for (int i = 0; i < 3; ++i)
                            call.on_host([=] { y.set(i, x.get(i) + 1), ++*counted; });
                          return 0;
                        }});
  const long before = counted.use_count();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  std::optional<UserGraph> captured;
  {
    Context context = compile(parse(kAdd), device, options).context();
    captured.emplace(stream, kGlobal, [&] {
      context.run(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
    });
  }
  for (int i = 1; i <= 5; ++i) {
    captured->launch(stream);
    EXPECT_THAT(download(z), ElementsAre(-3, -5, -7));
    EXPECT_EQ(*counted, 3 * i);
  }
  EXPECT_GT(counted.use_count(), before);
  captured.reset();
  device.synchronize();
  EXPECT_EQ(counted.use_count(), before);
}

TEST_F(CapturedRun, NextRunReportsExceptionsOfHostWork) {
  bool fails = true;
  const Registered plus("plus", {.enqueue = [&](const OpaqueCall& call) {
                          call.on_host([&] {
                            if (fails) throw std::runtime_error("no more");
                          });
                          return 0;
                        }});
  Context context = compile(parse(kAdd), device, options).context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  const auto run = [&] { context.run(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}}); };
  const UserGraph captured(stream, kGlobal, run);
  captured.launch(stream);
  stream.synchronize();
  EXPECT_THAT(error_of(run), HasSubstr("its host work in an earlier run failed: no more"));
  fails = false;
  captured.launch(stream);
  stream.synchronize();
  EXPECT_EQ(error_of(run), "(nothing thrown)");
}

/// Memory, kernels and bound arrays live exactly as long as the user's graph.
TEST_F(CapturedRun, OutlivesExecutableContextAndArrays) {
  const Graph graph = parse(R"(
graph chain(x: f32[n]) {
  a = mul x, 2.0
  s = sum a
  y = div a, s
  return y
})");
  device.synchronize();  // releases memory of earlier tests
  const std::uint64_t before = host::counters().live_bytes;
  {
    const Array y = device.empty(f32, {4000});
    std::optional<UserGraph> captured;
    {
      const Array x = upload(std::vector<float>(4000, 3));
      Options unfused = options;
      unfused.fuse = false;
      const Executable executable = compile(graph, device, unfused);
      Context context = executable.context();
      captured.emplace(stream, kGlobal, [&] { context.run(stream, {{"x", x}}, {{"y", y}}); });
    }
    device.synchronize();
    EXPECT_GT(host::counters().live_bytes, before + 2 * 16000);  // x and the arena
    for (int i = 0; i < 3; ++i) {
      captured->launch(stream);
      EXPECT_THAT(download(y), Each(1.0F / 4000));
    }
    captured->launch(stream);
    captured.reset();  // while the launch is pending
    EXPECT_THAT(download(y), Each(1.0F / 4000));
  }
  device.synchronize();
  EXPECT_EQ(host::counters().live_bytes, before);
}

/// Two runs of one Context that are concurrent in the user's graph.
TEST_F(CapturedRun, BranchesDoNotShareMemory) {
  Options unfused = options;
  unfused.fuse = false;
  const Executable executable = compile(parse(long_chain()), device, unfused);
  const Executable total =
      compile(parse("graph total(x: f32[n]) {\n  e = mul x, 2.0\n  y = sum e\n  return y\n}\n"),
              device, unfused);
  Context context = executable.context();
  Context totals = total.context();
  const Array x = upload(std::vector<float>(40000, 1));
  const Array w = upload(std::vector<float>(40000, 2));
  const Array y = device.empty(f32, {40000});
  const Array z = device.empty(f32, {40000});
  const Array s = device.empty(f32, {});
  const Array t = device.empty(f32, {});
  const Array expected_y = device.empty(f32, {40000});
  const Array expected_z = device.empty(f32, {40000});
  context.run(stream, {{"x", x}}, {{"a19", expected_y}});
  context.run(stream, {{"x", w}}, {{"a19", expected_z}});
  const Stream other = device.stream();
  const Event fork = device.event();
  const Event join = device.event();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    stream.synchronize();
    host::configure({.seed = seed});
    const UserGraph captured(stream, kGlobal, [&] {
      fork.record(stream);
      other.wait(fork);
      context.run(stream, {{"x", x}}, {{"a19", y}});
      context.replay(other, {{"x", w}}, {{"a19", z}});
      totals.run(stream, {{"x", x}}, {{"y", s}});
      totals.run(other, {{"x", w}}, {{"y", t}});
      join.record(other);
      stream.wait(join);
    });
    EXPECT_EQ(captured.nodes(), 4U);
    captured.launch(stream);
    EXPECT_EQ(download(y), download(expected_y)) << seed;
    EXPECT_EQ(download(z), download(expected_z)) << seed;
    EXPECT_THAT(download(s), ElementsAre(80000));
    EXPECT_THAT(download(t), ElementsAre(160000));
  }
}

TEST_F(CapturedRun, FollowsTheOrderOfTheStream) {
  const Executable executable = compile(twice(), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  const Array y = device.empty(f32, {3});
  const Array z = device.empty(f32, {3});
  PinnedArray in = device.pinned(f32, {3});
  PinnedArray out = device.pinned(f32, {3});
  const UserGraph captured(stream, kGlobal, [&] {
    device.upload(x, in, stream);
    context.run(stream, {{"x", x}}, {{"y", y}});
    context.run(stream, {{"x", y}}, {{"y", z}});
    device.copy(z, x, stream);
    device.download(x, out, stream);
  });
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    host::configure({.seed = seed});
    in.elements_as<float>()[1] = static_cast<float>(seed);
    captured.launch(stream);
    stream.synchronize();
    EXPECT_EQ(out.elements_as<float>()[1], 4.0F * static_cast<float>(seed));
  }
}

TEST_F(CapturedRun, AllocatesItsOutputs) {
  const Executable executable = compile(twice(), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  std::optional<Outputs> outputs;
  const UserGraph captured(stream, kGlobal, [&] { outputs = context.run(stream, {{"x", x}}); });
  captured.launch(stream);
  EXPECT_THAT(download((*outputs)[0]), ElementsAre(2, 4, 6));
}

/// A captured run does not count as a run of the Context: later runs do not wait for it.
TEST_F(CapturedRun, DoesNotChangeTheContext) {
  Options unfused = options;
  unfused.fuse = false;
  const Executable executable = compile(parse(long_chain()), device, unfused);
  Context context = executable.context();
  const Array x = upload(std::vector<float>(100, 1));
  const Array y = device.empty(f32, {100});
  const Stream other = device.stream();
  stream.synchronize();
  context.run(other, {{"x", x}}, {{"a19", y}});
  const std::vector<float> expected = device.download<float>(y, other);
  const UserGraph captured(stream, kGlobal, [&] {
    context.run(stream, {{"x", x}}, {{"a19", y}});
    // Meanwhile, the same thread runs on another stream.
    context.run(other, {{"x", x}}, {{"a19", y}});
    context.replay(other, {{"x", x}}, {{"a19", y}});
    other.synchronize();
    EXPECT_EQ(device.download<float>(y, other), expected);
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  });
  EXPECT_EQ(captured.nodes(), 1U);
  context.replay(stream, {{"x", x}}, {{"a19", y}});
  EXPECT_EQ(download(y), expected);
}

/// A user's function that runs a program of ours on its stream.
TEST_F(CapturedRun, CalledFunctionsMayRunPrograms) {
  const Executable inner = compile(
      parse("graph inner(x: f32[n]) {\n  y = add x, 1.0\n  return y\n}\n"), device, options);
  const Registered plus("plus", {.enqueue = [&](const OpaqueCall& call) {
                          const std::int64_t n = call.outputs[0].elements();
                          Context context = inner.context();
                          context.run(Stream::wrap(call.stream, device),
                                      {{"x", Array::wrap(call.inputs[0].data, f32, {n}, device)}},
                                      {{"y", Array::wrap(call.outputs[0].data, f32, {n}, device)}});
                          return 0;
                        }});
  Context context = compile(parse(kAdd), device, options).context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  context.replay(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
  EXPECT_THAT(download(z), ElementsAre(-3, -5, -7));
  EXPECT_EQ(context.counters().graph_launches, 1);
  const UserGraph captured(stream, kGlobal, [&] {
    context.run(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
  });
  device.upload(x, std::vector<float>{4, 5, 6}, stream);
  captured.launch(stream);
  EXPECT_THAT(download(z), ElementsAre(-9, -11, -13));
}

}  // namespace
}  // namespace sinter::test::captured_run_test
