// Opaque calls in CUDA Graphs: captured once and patched, or called between two graphs.
#include "tests/host/execution/opaque_fixture.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <stdexcept>

#include "tests/support/files/errors.h"

namespace sinter::test::opaque_graph_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Adder, IsPatchedIfArgumentsChange) {
  const Registered plus("plus", function());
  const Executable executable = compile(parse(kAdd), device, options);
  Context context = executable.context();
  Array x = upload({1, 2, 3});
  Array z = device.empty(f32, {3});
  const auto replay = [&](float term) {
    context.replay(stream, {{"x", x}, {"term", term}}, {{"z", z}});
    return download(z);
  };
  EXPECT_THAT(replay(1), ElementsAre(-3, -5, -7));
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(replay(1), ElementsAre(-3, -5, -7));
  EXPECT_EQ(calls, 1);  // no argument changed, so the graph is launched as it is
  x = upload({5, 6, 7});
  z = device.empty(f32, {3});
  EXPECT_THAT(replay(1), ElementsAre(-11, -13, -15));
  EXPECT_EQ(calls, 1);  // its own arrays are in the arena
  EXPECT_THAT(replay(4), ElementsAre(-14, -16, -18));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(context.counters().graph_builds, 1);
  for (const std::int64_t n : {5, 2, 700, 3}) {
    x = upload(std::vector<float>(static_cast<std::size_t>(n), 1));
    z = device.empty(f32, {n});
    EXPECT_THAT(replay(2), Each(-4)) << n;
  }
  context.run(stream, {{"x", x}, {"term", 3.0F}}, {{"z", z}});
  EXPECT_THAT(download(z), Each(-5));
  EXPECT_THAT(replay(3), Each(-5));
}

TEST_F(Adder, BranchesRunInAnyOrderTheirEdgesAllow) {
  const Registered plus("plus", function());
  const Graph graph = parse(R"(
graph branches(x: f32[64], w: f32[64]) {
  a = mul x, 2.0
  b = opaque plus a : f32[64]
  c = mul w, 3.0
  d = opaque plus c : f32[64]
  e = opaque plus d : f32[64]
  f = sub b, e
  return f
})");
  const Executable executable = compile(graph, device, options);
  const Array x = upload(std::vector<float>(64, 5));
  const Array w = upload(std::vector<float>(64, 7));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    stream.synchronize();
    host::configure({.seed = seed});
    Context context = executable.context();
    const Array f = device.empty(f32, {64});
    context.replay(stream, {{"x", x}, {"w", w}}, {{"f", f}});
    EXPECT_THAT(download(f), Each(11 - 23)) << seed;
    const Array again = device.empty(f32, {64});
    context.run(stream, {{"x", x}, {"w", w}}, {{"f", again}});
    EXPECT_THAT(download(again), Each(11 - 23)) << seed;
  }
  host::configure({});
}

TEST_F(Adder, RunsBetweenGraphsIfNotCapturable) {
  OpaqueFunction not_capturable = function();
  not_capturable.can_capture = false;
  const Registered plus("plus", not_capturable);
  const Executable executable = compile(parse(kAdd), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  for (int i = 1; i <= 3; ++i) {
    context.replay(stream, {{"x", x}, {"term", 1.0F * i}}, {{"z", z}});
    EXPECT_THAT(download(z), ElementsAre(-2 - i, -4 - i, -6 - i));
    EXPECT_EQ(calls, i);
    EXPECT_EQ(context.counters().graph_launches, 2 * i);
  }
  EXPECT_EQ(context.counters().graph_builds, 1);
  EXPECT_THAT(executable.report().kernels[1].notes,
              testing::Contains("a replay breaks its CUDA Graph in two around the call: it is "
                                "registered as not capturable"));
}

/// Functions that invalidate the capture, because they wait for the stream.
TEST_F(Adder, DetectsFunctionsThatCannotBeCaptured) {
  struct Case {
    const char* why;
    std::function<void(const OpaqueCall&)> invalidate;
  };
  const Driver& driver = host::host_driver();
  const Case cases[] = {
      {"capturing it failed: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
       [&](const OpaqueCall& call) {
         driver.cuStreamSynchronize(static_cast<cuda::CUstream>(call.stream));
       }},
      {"capturing it failed: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
       [&](const OpaqueCall& call) {
         const auto result = driver.cuStreamSynchronize(static_cast<cuda::CUstream>(call.stream));
         if (result == cuda::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
           throw std::runtime_error("the stream is captured");
       }},
  };
  for (const Case& one : cases) {
    OpaqueFunction waiting = function();
    waiting.enqueue = [&, add = waiting.enqueue](const OpaqueCall& call) {
      one.invalidate(call);
      return add(call);
    };
    const Registered plus("plus", waiting);
    const Executable executable = compile(parse(kAdd), device, options);
    Context context = executable.context();
    const Array x = upload({1, 2, 3});
    const Array z = device.empty(f32, {3});
    for (int i = 0; i < 2; ++i) {
      context.replay(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
      EXPECT_THAT(download(z), ElementsAre(-3, -5, -7));
    }
    EXPECT_EQ(context.counters().graph_launches, 4);
    EXPECT_THAT(executable.report().kernels[1].notes, testing::Contains(HasSubstr(one.why)));
    // The result is stored for other Contexts.
    calls = 0;
    Context other = executable.context();
    other.replay(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
    EXPECT_EQ(calls, 1);
    stream.synchronize();
  }
}

TEST_F(Adder, DetectsWorkOutsideOfTheStream) {
  const Registered plus("plus", {.enqueue = [&](const OpaqueCall& call) {
                          // Waits and then computes on the calling thread, like a CPU library.
                          const auto handle = static_cast<cuda::CUstream>(call.stream);
                          cuda::CUstreamCaptureStatus status{};
                          host::host_driver().cuStreamIsCapturing(handle, &status);
                          if (status != cuda::CU_STREAM_CAPTURE_STATUS_NONE) return 0;
                          host::host_driver().cuStreamSynchronize(handle);
                          const HostElements x(call.inputs[0]);
                          const HostElements y(call.outputs[0]);
                          for (int i = 0; i < 3; ++i) y.set(i, x.get(i) + 1);
                          return 0;
                        }});
  const Executable executable = compile(parse(kAdd), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  context.replay(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
  EXPECT_THAT(download(z), ElementsAre(-3, -5, -7));
  EXPECT_THAT(executable.report().kernels[1].notes,
              testing::Contains(HasSubstr("it put nothing on the stream")));
}

/// Adds `pieces` to three elements, in `pieces` pieces of host work.
OpaqueFunction in_pieces(const int& pieces) {
  return {.enqueue = [&pieces](const OpaqueCall& call) {
    const HostElements x(call.inputs[0]);
    const HostElements y(call.outputs[0]);
    for (int piece = 0; piece < pieces; ++piece)
      call.on_host([=, count = pieces] {
        for (int i = piece; i < 3; i += count) y.set(i, x.get(i) + count);
      });
    return 0;
  }};
}

TEST_F(Adder, RebuildsTheGraphIfTheWorkChanges) {
  int pieces = 1;
  const Registered plus("plus", in_pieces(pieces));
  Context context = compile(parse(kAdd), device, options).context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  for (pieces = 1; pieces <= 3; ++pieces) {
    context.replay(stream, {{"x", x}, {"term", 1.0F * pieces}}, {{"z", z}});
    EXPECT_THAT(download(z), ElementsAre(-2 - pieces, -4 - pieces, -6 - pieces));
  }
  EXPECT_EQ(context.counters().graph_builds, 3);  // a graph exec cannot change its nodes
}

/// The next replay of the Context builds the graph again.
TEST_F(Adder, ReplaysAfterAFailedRebuild) {
  int pieces = 1;
  const Registered plus("plus", in_pieces(pieces));
  Context context = compile(parse(kAdd), device, options).context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  const auto replay = [&] {
    context.replay(stream, {{"x", x}, {"term", 1.0F * pieces}}, {{"z", z}});
    return download(z);
  };
  EXPECT_THAT(replay(), ElementsAre(-3, -5, -7));
  pieces = 2;
  host::inject_fault("cuGraphInstantiateWithFlags", 1, cuda::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(error_of<Error>([&] { replay(); }), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_THAT(replay(), ElementsAre(-4, -6, -8));
}

/// For example, a library that allocates memory in stream order.
TEST_F(Adder, RunsBetweenGraphsIfAGraphRejectsItsWork) {
  const Registered plus("plus", function());
  const Executable executable = compile(parse(kAdd), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  host::inject_fault("cuGraphAddChildGraphNode", 1, cuda::CUDA_ERROR_NOT_SUPPORTED);
  for (int i = 0; i < 2; ++i) {
    context.replay(stream, {{"x", x}, {"term", 1.0F * i}}, {{"z", z}});
    EXPECT_THAT(download(z), ElementsAre(-2 - i, -4 - i, -6 - i));
  }
  EXPECT_THAT(executable.report().kernels.at(1).notes,
              testing::Contains(HasSubstr("a graph does not accept the work that it puts on the "
                                          "stream")));
}

/// A function may keep state between two pieces of work of one call, because calls do not overlap.
TEST_F(Adder, CallsOfOneFunctionDoNotOverlap) {
  double state = 0;
  const Registered plus("plus", {.enqueue = [&](const OpaqueCall& call) {
                          const HostElements x(call.inputs[0]);
                          const HostElements y(call.outputs[0]);
                          call.on_host([=, &state] { state = x.get(0); });
                          call.on_host([=, &state] { y.set(0, state); });
                          return 0;
                        }});
  const Executable executable = compile(parse(R"(
graph branches(x: f32[1], w: f32[1]) {
  a = mul x, 2.0
  b = opaque plus a : f32[1]
  c = mul w, 3.0
  d = opaque plus c : f32[1]
  return b, d
})"),
                                        device, options);
  const Array x = upload({5});
  const Array w = upload({7});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    stream.synchronize();
    host::configure({.seed = seed});
    Context context = executable.context();
    const Array b = device.empty(f32, {1});
    const Array d = device.empty(f32, {1});
    context.replay(stream, {{"x", x}, {"w", w}}, {{"b", b}, {"d", d}});
    EXPECT_THAT(download(b), ElementsAre(10)) << seed;
    EXPECT_THAT(download(d), ElementsAre(21)) << seed;
  }
  stream.synchronize();
  host::configure({});
}

/// Injects a fault into each driver call that calls need. The error names it, and the next run
/// works.
TEST_F(Adder, WorksAfterDriverFailures) {
  const Registered plus("plus", function());
  const Executable executable = compile(parse(kAdd), device, options);
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  float term = 0;
  const auto run_and_replay = [&] {
    Context context = executable.context();
    context.run(stream, {{"x", x}, {"term", term}}, {{"z", z}});
    context.replay(stream, {{"x", x}, {"term", term}}, {{"z", z}});
    context.replay(stream, {{"x", x}, {"term", term + 1}}, {{"z", z}});
    return download(z);
  };
  run_and_replay();
  for (const char* const call :
       {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphAddChildGraphNode", "cuGraphGetNodes",
        "cuGraphGetEdges", "cuGraphNodeGetType", "cuGraphChildGraphNodeGetGraph",
        "cuGraphExecChildGraphNodeSetParams", "cuLaunchHostFunc", "cuStreamCreate"})
    for (int nth = 1; nth <= 3; ++nth) {
      SCOPED_TRACE(fmt::format("{} {}", call, nth));
      host::reset_counters();
      run_and_replay();
      const auto made = static_cast<int>(host::calls(call));
      ASSERT_GE(made, 1);
      if (nth > made) continue;
      host::inject_fault(call, nth, cuda::CUDA_ERROR_UNKNOWN);
      const std::string message = error_of<Error>([&] { run_and_replay(); });
      host::clear_faults();
      EXPECT_THAT(message, AllOf(HasSubstr(call), HasSubstr("CUDA_ERROR_UNKNOWN")));
      EXPECT_THAT(run_and_replay(), ElementsAre(-3 - term, -5 - term, -7 - term));
      term += 1;
    }
}

}  // namespace
}  // namespace sinter::test::opaque_graph_test
