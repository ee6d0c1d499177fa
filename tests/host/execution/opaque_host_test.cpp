// Opaque calls: user functions between our kernels, in runs and in CUDA Graphs.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>

#include "sinter/profile.h"
#include "tests/host/execution/opaque_fixture.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test::opaque_host_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kMlp = R"(
graph mlp(x: bf16[rows, 48], bias: bf16[48], w: bf16[48, 40], scale: f32[40]) {
  h = add x, bias
  g = gelu h
  y = opaque gemm g, w {alpha = 0.5} : bf16[rows, 40]
  f = cast y {to = f32}
  n = rms_norm f {axes = [-1], eps = 1e-6}
  o = mul n, scale
  return o
})";

TEST(Opaque, RunsBetweenFusedKernels) {
  const Registered function("gemm", gemm());
  const RunResult run = run_and_check(kMlp, {{"rows", 19}});
  ASSERT_EQ(run.report.kernels.size(), 3U);
  const KernelReport& call = run.report.kernels[1];
  EXPECT_EQ(call.kind, "opaque");
  EXPECT_THAT(call.nodes, ElementsAre("y = opaque gemm g, w {alpha = 0.5} : bf16[rows, 40]"));
  EXPECT_EQ(call.launches, 1);
  EXPECT_EQ(call.bytes_read, 2 * (19 * 48 + 48 * 40));
  EXPECT_EQ(call.bytes_written, 2 * 19 * 40);
  EXPECT_EQ(call.minimal_bytes, call.bytes_read + call.bytes_written);
  EXPECT_THAT(call.notes, Each(testing::Not(HasSubstr("breaks"))));
}

TEST(Opaque, AcceptsAnyLayoutOfOperandsAndResults) {
  const Registered function("gemm", gemm());
  run_and_check(R"(
graph turned(x: f32[24, 20], w: f32[24, 36] {strides = [40, 1]}, p: f32[20, 36]) {
  t = permute x {axes = [1, 0]}
  y = opaque gemm t, w : f32[20, 36]
  ones = full {shape = [20, 24], value = 1.0, dtype = f32}
  z = opaque gemm ones, w : f32[20, 36]
  update p, z
  e = exp x
  s = slice e {axis = 0, begin = 0, end = 20, step = 1}
  v = opaque gemm s, p : f32[20, 36]
  both = concat y, v {axis = 1}
  return across = y {strides = [1, 20]}, y, both, e {strides = [1, 24]}
})");
}

TEST(Opaque, AppearsInLaunchDumps) {
  const Registered function("gemm", gemm());
  const ScratchFolder folder;
  const Executable executable =
      compile(parse(kMlp), host_device(),
              {.tune = Tune::off, .dump = {"launch"}, .dump_directory = folder.path()});
  executable.prepare({{"rows", 5}});
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    text += read_text(entry.path());
  EXPECT_THAT(text, HasSubstr("mlp_1_gemm: an opaque call\n"));
}

TEST(Opaque, MustBeRegisteredForCompilation) {
  const Graph graph = parse(kMlp, "mlp.sinter");
  EXPECT_EQ(error_of([&] { compile(graph, host_device()); }),
            "opaque gemm: no function of this name is registered in this process; call "
            "register_opaque(\"gemm\", …) before the graph is compiled (recorded at mlp.sinter:5)");
}

TEST_F(Adder, ReadsAndWritesBoundArraysDirectly) {
  const Registered plus("plus", function());
  const Graph graph = parse("graph g(x: f32[n]) {\n  y = opaque plus x : f32[n]\n  return y\n}\n");
  Context context = compile(graph, device, options).context();
  for (const bool as_graph : {false, true})
    for (int i = 0; i < 3; ++i) {
      const Array x = upload({1.0F * i, 2});
      const Array y = device.empty(f32, {2});
      if (as_graph)
        context.replay(stream, {{"x", x}}, {{"y", y}});
      else
        context.run(stream, {{"x", x}}, {{"y", y}});
      EXPECT_THAT(download(y), ElementsAre(i + 1, 3));
    }
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(context.counters().graph_builds, 1);
  const Array empty = device.empty(f32, {0});
  context.run(stream, {{"x", empty}}, {{"y", empty}});
  context.replay(stream, {{"x", empty}}, {{"y", device.empty(f32, {0})}});
  EXPECT_EQ(calls, 6);  // empty arrays need no call
}

TEST_F(Adder, FailuresNameTheCallAndLeaveTheProgramUsable) {
  enum class Way { none, throws, throws_anything, returns, later, works } way = Way::none;
  const OpaqueFunction add = function();
  const Registered plus("plus", {.enqueue = [&](const OpaqueCall& call) {
                          if (way == Way::throws) throw std::runtime_error("no handle");
                          if (way == Way::throws_anything) throw 3;
                          if (way == Way::returns) return 14;
                          if (way == Way::later)
                            call.on_host([] { throw std::runtime_error("too late"); });
                          return add.enqueue(call);
                        }});
  const Executable executable = compile(parse(kAdd, "add.sinter"), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  float term = 0;
  const auto go = [&](bool as_graph) {
    const Array z = device.empty(f32, {3});
    term += 1;  // changes the argument, so that replays call again
    if (as_graph)
      context.replay(stream, {{"x", x}, {"term", term}}, {{"z", z}});
    else
      context.run(stream, {{"x", x}, {"term", term}}, {{"z", z}});
    EXPECT_THAT(download(z), ElementsAre(-2 - term, -4 - term, -6 - term));
  };
  for (const bool as_graph : {false, true}) {
    const auto message = [&](Way given) {
      way = given;
      std::string text = error_of([&] { go(as_graph); });
      way = Way::works;
      EXPECT_EQ(error_of([&] { go(as_graph); }), "(nothing thrown)");
      return text;
    };
    EXPECT_EQ(message(Way::throws),
              "opaque plus: its function failed: no handle (recorded at add.sinter:4)");
    EXPECT_EQ(message(Way::throws_anything),
              "opaque plus: its function failed: it threw an exception that is not a "
              "std::exception (recorded at add.sinter:4)");
    EXPECT_EQ(message(Way::returns),
              "opaque plus: its function failed with the code 14 (recorded at add.sinter:4)");
    way = Way::later;
    go(as_graph);
    way = Way::works;
    EXPECT_EQ(error_of([&] { go(as_graph); }),
              "opaque plus: its host work in an earlier run failed: too late (recorded at "
              "add.sinter:4)");
    EXPECT_EQ(error_of([&] { go(as_graph); }), "(nothing thrown)");
  }
}

TEST_F(Adder, ExecutablesKeepUnregisteredFunctions) {
  auto plus = std::make_unique<Registered>("plus", function());
  const Executable executable = compile(parse(kAdd), device, options);
  plus.reset();
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  context.run(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
  EXPECT_THAT(download(z), ElementsAre(-3, -5, -7));
}

TEST_F(Adder, IsProfiledLikeAKernel) {
  const Registered plus("plus", function());
  const Executable executable = compile(parse(kAdd), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  const Profile result =
      profile(context, {{"x", x}, {"term", 1.0F}}, {{"z", z}}, {.repeats = 2, .stream = stream});
  ASSERT_EQ(result.kernels.size(), 3U);
  EXPECT_EQ(result.kernels[1].launches, 1);
  EXPECT_EQ(result.kernels[1].bytes_read, 12);
  EXPECT_GT(result.kernels[1].median_us, 0);
  EXPECT_THAT(download(z), ElementsAre(-3, -5, -7));
}

TEST_F(Adder, WorksOnForeignStreams) {
  const Registered plus("plus", function());
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  stream.synchronize();
  const Stream legacy = Stream::wrap(nullptr, device);
  {
    Context context = compile(parse(kAdd), device, options).context();
    context.run(legacy, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
    context.replay(legacy, {{"x", x}, {"term", 2.0F}}, {{"z", z}});
  }  // the destructor waits
  EXPECT_THAT(download(z), ElementsAre(-4, -6, -8));
}

TEST(OpaqueWorkspace, BelongsToOneCall) {
  const Registered function("reversed", reversed());
  const char* const text = R"(
graph g(x: f32[n], w: f32[n]) {
  a, _ = opaque reversed x : f32[n], f32[]
  b, _ = opaque reversed w : f32[n], f32[]
  c = sub a, b
  d, _ = opaque reversed c : f32[n], f32[]
  return d
})";
  for (const std::int64_t n : {1000, 3}) run_and_check(text, {{"n", n}}, {.candidates = false});
}

TEST(OpaqueWorkspace, FailuresNameTheCall) {
  OpaqueFunction function = reversed();
  std::int64_t bytes = -1;
  function.workspace = [&](const OpaqueSizes& sizes) {
    return bytes + static_cast<std::int64_t>(sizes.number("extra"));
  };
  const Registered registered("reversed", function);
  const auto message = [&](const char* attributes) {
    const Graph graph = parse(fmt::format("graph g(x: f32[4]) {{\n  a, s = opaque reversed x {} : "
                                          "f32[4], f32[]\n  return a, s\n}}\n",
                                          attributes),
                              "g.sinter");
    return error_of([&] { compile(graph, host_device(), {.tune = Tune::off}); });
  };
  EXPECT_EQ(message("{extra = 0}"),
            "opaque reversed: its workspace function asks for -1 bytes (recorded at g.sinter:2)");
  bytes = std::numeric_limits<std::int64_t>::max() - 100;
  EXPECT_EQ(message("{extra = 0}"),
            "opaque reversed: its workspace function asks for 9223372036854775707 bytes (recorded "
            "at g.sinter:2)");
  EXPECT_EQ(message(""),
            "opaque reversed: its workspace function failed: the call has no attribute extra; give "
            "it one (recorded at g.sinter:2)");
}

TEST_F(Adder, WorksAfterAFailedWorkspaceFunction) {
  OpaqueFunction adding = function();
  std::int64_t limit = 100;
  adding.workspace = [&](const OpaqueSizes& sizes) {
    const std::int64_t bytes = sizes.inputs[0].bytes();
    return bytes > limit ? -1 : bytes;
  };
  const Registered plus("plus", adding);
  const Executable executable = compile(parse(kAdd), device, options);
  Context context = executable.context();
  const auto go = [&](std::int64_t n) {
    const Array x = upload(std::vector<float>(static_cast<std::size_t>(n), 1));
    const Array z = device.empty(f32, {n});
    context.run(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
    EXPECT_THAT(download(z), Each(-3)) << n;
  };
  go(4);
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(error_of([&] { go(64); }), HasSubstr("its workspace function asks for -1 bytes"));
  go(4);
  limit = 1000;
  go(64);
}

}  // namespace
}  // namespace sinter::test::opaque_host_test
