// Errors and concurrent work during a stream capture of the user. Neither invalidates the capture.
#include <gmock/gmock.h>

#include <future>
#include <optional>
#include <thread>

#include "runtime/support/background_thread.h"
#include "sinter/profile.h"
#include "tests/host/execution/captured_fixture.h"
#include "tests/host/saved/saved_fixture.h"
#include "tests/support/doubles/two_step_engine.h"
#include "tests/support/files/errors.h"

namespace sinter::test::captured_beside_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class CapturedBeside : public CapturedRun {};

/// If the end of a run was not recorded before its stream is captured, it cannot be recorded during
/// the capture.
TEST_F(CapturedBeside, RejectsRunsThatFollowOneOnACapturedStream) {
  Options unfused = options;
  unfused.fuse = false;
  const Executable executable = compile(parse(long_chain()), device, unfused, "model.cpp", 3);
  Context context = executable.context();
  const Array x = upload(std::vector<float>(100, 1));
  const Array y = device.empty(f32, {100});
  const Stream other = device.stream();
  context.run(stream, {{"x", x}}, {{"a19", y}});
  const UserGraph captured(stream, kGlobal, [&] {
    EXPECT_EQ(error_of([&] {
                context.run(other, {{"x", x}}, {{"a19", y}});
              }),
              "chain: the last run of this Context was on a stream that is being captured now, so "
              "this run on another stream cannot wait for it; end the capture, run on that "
              "stream, or make a Context for each stream (compiled at model.cpp:3)");
    context.run(stream, {{"x", x}}, {{"a19", y}});
  });
  const std::vector<float> expected = download(y);
  device.upload(y, std::vector<float>(100, 0), stream);
  context.run(other, {{"x", x}}, {{"a19", y}});
  EXPECT_EQ(device.download<float>(y, other), expected);
}

/// A Context may be destroyed while its stream is captured and its last run may still be pending.
TEST_F(CapturedBeside, ContextsMayBeDestroyed) {
  const auto host_calls = std::make_shared<int>(0);
  const Registered plus("plus", {.enqueue = [host_calls](const OpaqueCall& call) {
                          const HostElements x(call.inputs[0]);
                          const HostElements y(call.outputs[0]);
                          call.on_host([=] {
                            for (int i = 0; i < 3; ++i) y.set(i, x.get(i) + 1);
                            ++*host_calls;
                          });
                          return 0;
                        }});
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  auto context = std::make_optional(compile(parse(kAdd), device, options).context());
  const long before = host_calls.use_count();
  context->run(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
  const UserGraph captured(stream, kGlobal, [&] {
    context.reset();
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_GT(host_calls.use_count(), before);
  });
  EXPECT_THAT(download(z), ElementsAre(-3, -5, -7));
  device.synchronize();
  EXPECT_EQ(*host_calls, 1);
  EXPECT_EQ(host_calls.use_count(), before);
}

/// The pending run still calls the communicator's engine.
TEST_F(CapturedBeside, CommunicatorsLiveAsLongAsPendingRuns) {
  auto engine = std::make_shared<TwoStepEngine>();
  const std::weak_ptr<TwoStepEngine> watched = engine;
  const Graph gather = parse(
      "graph gather(x: f32[3]) {\n  y = all_gather x {group = \"data\", ranks = 2}\n  return y\n}\n");
  auto context = std::make_optional(
      compile(gather, device, options).context({{"data", Communicator(std::move(engine))}}));
  const Array x = upload({1, 2, 3});
  const Array y = device.empty(f32, {6});
  context->run(stream, {{"x", x}}, {{"y", y}});
  const UserGraph captured(stream, kGlobal, [&] {
    context.reset();
    EXPECT_FALSE(watched.expired());
  });
  EXPECT_THAT(download(y), ElementsAre(1, 2, 3, 1, 2, 3));
  device.synchronize();
  EXPECT_TRUE(watched.expired());
}

TEST_F(CapturedBeside, RejectsCallsThatCannotBeCaptured) {
  OpaqueFunction not_capturable = function();
  not_capturable.can_capture = false;
  const Registered plus("plus", not_capturable);
  Context context = compile(parse(kAdd), device, options).context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  const auto run = [&] { context.replay(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}}); };
  const UserGraph captured(stream, kGlobal, [&] {
    EXPECT_THAT(error_of(run),
                AllOf(StartsWith("opaque plus: it cannot be part of a stream capture: it is "
                                 "registered as not capturable; end the capture before the run and "
                                 "begin another one after it (recorded at"),
                      HasSubstr(")")));
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  });
  EXPECT_EQ(captured.nodes(), 0U);
  run();
  EXPECT_THAT(download(z), ElementsAre(-3, -5, -7));
}

TEST_F(CapturedBeside, RejectsFunctionsThatWait) {
  const Registered plus(
      "plus", {.enqueue = [&](const OpaqueCall& call) {
        host::host_driver().cuStreamSynchronize(static_cast<cuda::CUstream>(call.stream));
        return function().enqueue(call);
      }});
  Context context = compile(parse(kAdd), device, options).context();
  const Array x = upload({1, 2, 3});
  const Array z = device.empty(f32, {3});
  const auto run = [&] { context.run(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}}); };
  const UserGraph captured(stream, kGlobal, [&] {
    EXPECT_THAT(error_of(run), HasSubstr("opaque plus: it cannot be part of a stream capture: "
                                         "capturing it failed"));
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  });
  run();
  EXPECT_THAT(download(z), ElementsAre(-3, -5, -7));
}

/// Calls that would wait for the captured stream throw, and do not invalidate the capture.
TEST_F(CapturedBeside, RejectsWaitsWithoutInvalidatingTheCapture) {
  const Executable executable = compile(twice(), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  const Array y = device.empty(f32, {3});
  const Array strided = device.empty(f32, {2, 2}, {4, 1});
  const Event outside = device.event();
  outside.record(device.stream());
  const UserGraph captured(stream, kGlobal, [&] {
    context.run(stream, {{"x", x}}, {{"y", y}});
    const std::string why =
        ": the stream is being captured, so its work does not run until the CUDA Graph is "
        "launched; end the capture, launch the graph and wait for the launch, or use another "
        "stream";
    EXPECT_EQ(error_of([&] { stream.synchronize(); }), "Stream::synchronize" + why);
    EXPECT_EQ(error_of([&] { download(y); }), "Device::download" + why);
    std::vector<float> four(4);
    EXPECT_EQ(error_of([&] { device.download(strided, static_cast<void*>(four.data()), stream); }),
              "Device::download" + why);
    EXPECT_EQ(error_of([&] {
                profile(context, context.bind({{"x", x}}, {{"y", y}}), {.stream = stream});
              }),
              "profile twice" + why);
    const Event inside = device.event();
    inside.record(stream);
    const std::string no_time =
        ": the event was recorded on a stream that was being captured, so the work before it does "
        "not run until the CUDA Graph is launched; wait for the stream that the graph is launched "
        "on, or record the event outside of the capture";
    EXPECT_EQ(error_of([&] { inside.synchronize(); }), "Event::synchronize" + no_time);
    EXPECT_EQ(error_of([&] { (void)inside.is_done(); }), "Event::is_done" + no_time);
    inside.record(device.stream());
    inside.synchronize();
    EXPECT_TRUE(inside.is_done());
    EXPECT_THAT(error_of<DriverError>([&] { stream.wait(outside); }),
                HasSubstr("wait for other work before the capture begins"));
    outside.synchronize();  // waits for work outside of the capture are allowed
    EXPECT_TRUE(outside.is_done());
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  });
  EXPECT_EQ(captured.nodes(), 1U);
  captured.launch(stream);
  EXPECT_THAT(download(y), ElementsAre(2, 4, 6));
}

/// Device::synchronize does not know about the capture, so the driver invalidates it. The error
/// explains the remedy.
TEST_F(CapturedBeside, RunsWorkAfterAnInvalidatedCapture) {
  const Executable executable = compile(twice(), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  const Array y = device.empty(f32, {3});
  const auto run = [&] { context.run(stream, {{"x", x}}, {{"y", y}}); };
  EXPECT_THAT(error_of<Error>([&] {
                const UserGraph captured(stream, kGlobal, [&] {
                  run();
                  EXPECT_THAT(error_of<DriverError>([&] { device.synchronize(); }),
                              HasSubstr("; a stream is being captured: do this before the capture "
                                        "begins or after it ends"));
                  EXPECT_THAT(error_of(run), HasSubstr("an earlier error has made the capture "
                                                       "invalid; end it (cuStreamEndCapture)"));
                });
              }),
              HasSubstr("end it and begin a new one"));
  run();
  EXPECT_THAT(download(y), ElementsAre(2, 4, 6));
}

/// Injects a fault into each driver call that capturing a run makes.
TEST_F(CapturedBeside, CaptureWorksAfterDriverFailures) {
  const Registered plus("plus", function());
  Options unfused = options;
  unfused.fuse = false;
  const Executable executable = compile(parse(R"(
graph both(x: f32[n], term: f32) {
  d = mul x, 2.0
  y = opaque plus d, term : f32[n]
  s = sum y
  z = div y, s
  return z
})"),
                                        device, unfused);
  Context context = executable.context();
  const Array x = upload(std::vector<float>(40000, 1));
  const Array z = device.empty(f32, {40000});
  const auto run = [&] { context.run(stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}}); };
  run();
  device.synchronize();
  const std::uint64_t live = host::counters().live_bytes;
  for (const char* const call :
       {"cuStreamIsCapturing", "cuStreamGetCaptureInfo", "cuStreamUpdateCaptureDependencies",
        "cuUserObjectCreate", "cuGraphRetainUserObject", "cuGraphAddChildGraphNode", "cuMemAlloc",
        "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddDependencies", "cuLaunchHostFunc",
        "cuStreamBeginCapture"}) {
    SCOPED_TRACE(call);
    {
      const UserGraph captured(stream, kGlobal, [&] {
        host::inject_fault(call, 1, CUDA_ERROR_UNKNOWN);
        EXPECT_THAT(error_of<Error>(run), AllOf(HasSubstr(call), HasSubstr("CUDA_ERROR_UNKNOWN")));
        host::clear_faults();
        EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
        run();
      });
      captured.launch(stream);
      EXPECT_THAT(download(z), Each(1.0F / 40000));
      run();
      EXPECT_THAT(download(z), Each(1.0F / 40000));
    }
    device.synchronize();
    EXPECT_EQ(host::counters().live_bytes, live);
  }
}

/// Background tuning continues during a global-mode capture on another thread.
TEST_F(CapturedBeside, BackgroundTuningContinuesDuringAGlobalCapture) {
  BackgroundThread::process_wide().wait();
  std::promise<void> go_on;
  BackgroundThread::process_wide().add([until = go_on.get_future().share()] { until.wait(); });
  const Executable executable = compile(
      parse("graph wide(x: f32[rows, 96]) {\n  h = mul x, 0.71\n  y = softmax h {axis = 1}\n"
            "  return y\n}\n"),
      device, {.tune = Tune::quick, .cache = {.mode = CacheMode::off}, .never_stall = true});
  Context context = executable.context();
  const Array x = device.empty(f32, {50, 96});
  device.upload(x, std::vector<float>(50 * 96, 0.25F), stream);
  const Array y = device.empty(f32, {50, 96});
  context.run(stream, {{"x", x}}, {{"y", y}});
  const std::vector<float> expected = download(y);
  const Array z = device.empty(f32, {50, 96});
  const UserGraph captured(stream, kGlobal, [&] {
    context.run(stream, {{"x", x}}, {{"y", z}});
    go_on.set_value();
    executable.await_background();
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  });
  const VariantReport report = executable.report().variants.at(0);
  EXPECT_FALSE(report.is_provisional) << report.background_problem;
  captured.launch(stream);  // runs the kernels of the default schedule
  EXPECT_EQ(download(z), expected);
}

/// The same for all other operations of another thread.
TEST_F(CapturedBeside, OtherThreadsContinueDuringAGlobalCapture) {
  const Graph graph =
      parse("graph other(x: f32[n]) {\n  h = mul x, 0.37\n  y = sum h\n  return y\n}\n");
  const UserGraph captured(stream, kGlobal, [&] {
    std::thread([&] {
      const Stream own = device.stream();
      const Array x = device.empty(f32, {3000});
      device.upload(x, std::vector<float>(3000, 1), own);
      const PinnedArray pinned = device.pinned(f32, {3});
      const Executable executable =
          compile(graph, device, {.tune = Tune::quick, .cache = {.mode = CacheMode::off}});
      Context context = executable.context();
      const Outputs once = context.run(own, {{"x", x}});
      const Array y = device.empty(f32, {});
      context.replay(own, {{"x", x}}, {{"y", y}});
      EXPECT_EQ(device.download<float>(y, own), device.download<float>(once[0], own));
      const Event event = device.event();
      event.record(own);
      event.synchronize();
      EXPECT_TRUE(event.is_done());
    }).join();
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  });
}

/// The program has a cooperative kernel, so loading it queries the device's occupancy.
TEST_F(CapturedBeside, ProgramsMayBeLoaded) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/joined.sinterx";
  const Executable saved =
      compile(parse(read_text(SINTER_SOURCE_DIR "/tests/golden/run/fused_launch_results.sinter")),
              device, options);
  saved.prepare({{"n", 1024}});
  saved.save(path);
  const std::uint64_t queries = host::calls("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  const UserGraph captured(stream, kGlobal, [&] {
    load(path, device);
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  });
  EXPECT_GT(host::calls("cuOccupancyMaxActiveBlocksPerMultiprocessor"), queries);
}

/// Each thread captures on its own stream of one capture.
TEST_F(CapturedBeside, SeveralThreadsRecordIntoOneCapture) {
  constexpr std::size_t kThreads = 2, kRuns = 40;
  const Executable executable =
      compile(parse("graph more(x: f32[n]) {\n  y = add x, 1.0\n  return y\n}\n"), device, options);
  const Array zeros = upload({0, 0, 0});
  std::vector<Array> arrays(kThreads, device.empty(f32, {3}));
  arrays[1] = device.empty(f32, {3});
  const Event fork = device.event();
  const UserGraph captured(stream, CU_STREAM_CAPTURE_MODE_RELAXED, [&] {
    fork.record(stream);
    std::vector<std::thread> threads;
    std::vector<Event> joins;
    for (const Array& array : arrays) {
      const Event join = joins.emplace_back(device.event());
      threads.emplace_back([&, join] {
        Context context = executable.context();
        const Stream own = device.stream();
        own.wait(fork);
        device.copy(zeros, array, own);
        const Array other = device.empty(f32, {3});
        for (std::size_t i = 0; i < kRuns; ++i) {
          context.run(own, {{"x", array}}, {{"y", other}});
          context.run(own, {{"x", other}}, {{"y", array}});
        }
        join.record(own);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Event& join : joins) stream.wait(join);
  });
  EXPECT_EQ(captured.nodes(), kThreads * (1 + 2 * kRuns));
  captured.launch(stream);
  for (const Array& array : arrays) EXPECT_THAT(download(array), Each(2.0F * kRuns));
}

/// The driver does not return edges with data, such as those of programmatic launches.
TEST_F(CapturedBeside, RejectsProgrammaticDependencies) {
  const Executable executable = compile(twice(), device, options);
  Context context = executable.context();
  const Array x = upload({1, 2, 3});
  const Array y = device.empty(f32, {3});
  const UserGraph captured(stream, kGlobal, [&] {
    host::inject_fault("cuStreamGetCaptureInfo", 1, CUDA_ERROR_LOSSY_QUERY);
    EXPECT_THAT(error_of<DriverError>([&] {
                  context.run(stream, {{"x", x}}, {{"y", y}});
                }),
                HasSubstr("; the stream waits only for part of a kernel (programmatic dependent "
                          "launch): put an empty kernel, or a wait for an ordinary event, before "
                          "this"));
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  });
}

}  // namespace
}  // namespace sinter::test::captured_beside_test
