// Several devices in one process. Each has its own kernels, memory and tuning, and can be used from
// many threads. Objects of another device are rejected with an error.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>

#include "runtime/device/device_state.h"
#include "sinter/counters.h"
#include "sinter/dlpack.h"
#include "sinter/profile.h"
#include "tests/host/execution/opaque_fixture.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test::many_devices_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kScaled = R"(
graph scaled(x: f32[n], factor: f32) {
  d = mul x, factor
  s = sum d
  y = add d, s
  return y
})";

/// Like kScaled with the factor 2, but with kernels that no other test compiles, even if tests are
/// repeated.
Graph fresh_graph() {
  static int number = 0;
  return parse(
      fmt::format("graph fresh(x: f32[n]) {{\n  d = mul x, 2.0\n  s = sum d\n"
                  "  y = add d, s\n  z = add y, {}.0\n  return y, z\n}}\n",
                  ++number));
}

struct DeviceAndStream {
  explicit DeviceAndStream(int ordinal) : device(host_device(ordinal)) {}
  Array upload(const std::vector<float>& values) const {
    const Array array = device.empty(f32, {static_cast<std::int64_t>(values.size())});
    device.upload(array, values, stream);
    return array;
  }

  Device device;
  Stream stream = device.stream();
};

class ManyDevices : public testing::Test {
 protected:
  void SetUp() override {  // driver tests leave a context current
    host::host_driver().cuCtxSetCurrent(nullptr);
  }
  void TearDown() override {
    host::clear_faults();
    here.device.synchronize();
    there.device.synchronize();
  }

  DeviceAndStream here{0};
  DeviceAndStream there{1};
  const Options options = {.tune = Tune::off, .optimize_host = false};
};

TEST_F(ManyDevices, AreNumbered) {
  EXPECT_EQ(here.device.ordinal(), 0);
  EXPECT_EQ(there.device.ordinal(), 1);
  EXPECT_EQ(host_device(1), there.device);
  EXPECT_FALSE(here.device == there.device);
  EXPECT_THAT(error_of([] { host_device(99); }),
              HasSubstr("host_device(99): there are 4 host devices, counted from 0"));
}

/// Each context takes GPU memory, so only requested devices are opened.
TEST_F(ManyDevices, DevicesOpenOnFirstUse) {
  static const std::uint64_t opened = [] {  // once per process
    const std::uint64_t before = host::calls("cuDevicePrimaryCtxRetain");
    host_device(3);
    return host::calls("cuDevicePrimaryCtxRetain") - before;
  }();
  EXPECT_EQ(opened, 1U);
  const std::uint64_t before = host::calls("cuDevicePrimaryCtxRetain");
  host_device(3);
  EXPECT_EQ(host::calls("cuDevicePrimaryCtxRetain"), before);
}

TEST_F(ManyDevices, EachLoadsItsOwnKernels) {
  const Graph graph = fresh_graph();
  const Executable first = compile(graph, here.device, options);
  first.prepare({{"n", 3}});
  const std::uint64_t loaded = host::calls("cuModuleLoadData");
  const Executable second = compile(graph, there.device, options);
  second.prepare({{"n", 3}});
  EXPECT_GT(host::calls("cuModuleLoadData"), loaded);
  for (const auto& [side, executable] : {std::pair(&here, &first), std::pair(&there, &second)}) {
    Context context = executable->context();
    const Array x = side->upload({1, 2, 3});
    const Outputs outputs = context.run(side->stream, {{"x", x}});
    EXPECT_EQ(outputs[0].device(), side->device);
    EXPECT_THAT(side->device.download<float>(outputs[0], side->stream), ElementsAre(14, 16, 18));
  }
}

/// Tuning results of one device do not apply to another.
TEST_F(ManyDevices, EachIsTuned) {
  const Graph graph = fresh_graph();
  const Options tuned = {.tune = Tune::quick, .cache = {.mode = CacheMode::off}};
  compile(graph, here.device, tuned).prepare({{"n", 3000}});
  const std::int64_t before = counters().tunings;
  compile(graph, here.device, tuned).prepare({{"n", 3000}});
  EXPECT_EQ(counters().tunings, before);
  compile(graph, there.device, tuned).prepare({{"n", 3000}});
  EXPECT_GT(counters().tunings, before);
}

TEST_F(ManyDevices, RunFromManyThreads) {
  const Graph graph = parse(kScaled);
  const Executable executables[] = {compile(graph, here.device, options),
                                    compile(graph, there.device, options)};
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      // Each thread alternates between the devices.
      const DeviceAndStream sides[] = {DeviceAndStream(0), DeviceAndStream(1)};
      std::vector<Context> contexts;
      for (const Executable& executable : executables) contexts.push_back(executable.context());
      for (int i = 0; i < 40; ++i) {
        const auto which = static_cast<std::size_t>((i + thread) % 2);
        const DeviceAndStream& side = sides[which];
        const float factor = static_cast<float>(thread + 1);
        const Array x = side.upload({1, 2, static_cast<float>(i)});
        const Array y = side.device.empty(f32, {3});
        if (i % 3 == 0)
          contexts[which].run(side.stream, {{"x", x}, {"factor", factor}}, {{"y", y}});
        else
          contexts[which].replay(side.stream, {{"x", x}, {"factor", factor}}, {{"y", y}});
        const float sum = factor * static_cast<float>(3 + i);
        wrong += side.device.download<float>(y, side.stream) !=
                 std::vector<float>{factor + sum, 2 * factor + sum,
                                    factor * static_cast<float>(i) + sum};
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ManyDevices, RejectsObjectsOfAnotherDevice) {
  const Graph graph = parse(kScaled);
  const Executable executable = compile(graph, here.device, options, "model.cpp", 9);
  const Executable elsewhere = compile(graph, there.device, options);
  Context context = executable.context();
  Context other = elsewhere.context();
  const Array x = here.upload({1, 2, 3});
  const Array y = here.device.empty(f32, {3});
  const Array far_x = there.upload({1, 2, 3});
  const Array far_y = there.device.empty(f32, {3});
  const std::string both =
      "host device (host:1) but the program was compiled for host device (host:0); ";
  EXPECT_EQ(error_of([&] {
              context.run(here.stream, {{"x", far_x}, {"factor", 1.0F}}, {{"y", y}});
            }),
            "scaled: input x is on device " + both + "copy it there (compiled at model.cpp:9)");
  EXPECT_EQ(error_of([&] {
              context.replay(here.stream, {{"x", x}, {"factor", 1.0F}}, {{"y", far_y}});
            }),
            "scaled: output y is on device " + both + "copy it there (compiled at model.cpp:9)");
  EXPECT_EQ(error_of([&] {
              context.run(there.stream, {{"x", x}, {"factor", 1.0F}}, {{"y", y}});
            }),
            "scaled: the stream is on device " + both +
                "take a stream of that device (compiled at model.cpp:9)");
  const Bindings bindings = other.bind({{"x", far_x}, {"factor", 1.0F}}, {{"y", far_y}});
  EXPECT_EQ(error_of([&] { context.run(here.stream, bindings); }),
            "scaled: the Bindings were made on " + both +
                "bind arrays of that device in a Context of this program (compiled at "
                "model.cpp:9)");
  EXPECT_THAT(error_of([&] { profile(context, bindings); }), HasSubstr("were made on " + both));
  EXPECT_THAT(
      error_of([&] {
        profile(context, {{"x", x}, {"factor", 1.0F}}, {{"y", y}}, {.stream = there.stream});
      }),
      HasSubstr("the stream is on device " + both));
  // Memory of one device, wrapped as memory of the other.
  EXPECT_THAT(error_of([&] {
                context.run(
                    here.stream,
                    {{"x", Array::wrap(far_x.pointer(), f32, {3}, here.device)}, {"factor", 1.0F}},
                    {{"y", y}});
              }),
              HasSubstr("which is memory of device 1, but the program was compiled for device 0; "
                        "copy it there"));
  std::vector<float> values(3);
  const std::string copy =
      ": the array is on host device (host:1), the stream on host device (host:0), but the copy "
      "was called on host device (host:0); use one device";
  EXPECT_EQ(error_of([&] { here.device.upload(far_x, values, here.stream); }),
            "Device::upload" + copy);
  EXPECT_EQ(error_of([&] { here.device.download<float>(far_x, here.stream); }),
            "Device::download" + copy);
  EXPECT_EQ(error_of([&] { here.device.copy(x, far_y, here.stream); }), "Device::copy" + copy);
  const std::string two_devices =
      "one belongs to host device (host:0), the other to host device (host:1); take both from one "
      "device";
  const Event event = there.device.event();
  EXPECT_EQ(error_of([&] { here.stream.wait(event); }),
            "Stream::wait: the stream and the event: " + two_devices);
  EXPECT_THAT(error_of([&] { event.record(here.stream); }),
              HasSubstr("Event::record: the event and the stream: one belongs to"));
  EXPECT_THAT(error_of([&] { (void)here.device.event().elapsed_since(event); }),
              HasSubstr("the two events: " + two_devices));
  EXPECT_THAT(error_of([&] { from_dlpack(to_dlpack(far_x), there.device); }),
              HasSubstr("wrapped CPU memory belongs to the first host device; use host_device()"));
  // The errors have no side effects.
  context.run(here.stream, {{"x", x}, {"factor", 1.0F}}, {{"y", y}});
  EXPECT_THAT(here.device.download<float>(y, here.stream), ElementsAre(7, 8, 9));
}

TEST_F(ManyDevices, SavedProgramsLoadOnEach) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/scaled.sinterx";
  const Executable saved = compile(parse(kScaled), here.device, options);
  saved.prepare({{"n", 3}});
  saved.save(path);
  for (const DeviceAndStream* const side : {&here, &there}) {
    const Executable loaded = load(path, side->device);
    EXPECT_EQ(loaded.device(), side->device);
    Context context = loaded.context();
    const Array x = side->upload({1, 2, 3});
    const Outputs outputs = context.run(side->stream, {{"x", x}, {"factor", 2.0F}});
    EXPECT_THAT(side->device.download<float>(outputs[0], side->stream), ElementsAre(14, 16, 18));
  }
}

/// User functions that use another device and leave its context current.
TEST_F(ManyDevices, CalledFunctionsMayChangeTheContext) {
  const Driver& driver = host::host_driver();
  int calls = 0;
  const Registered plus("plus", {.enqueue = [&](const OpaqueCall& call) {
                          ++calls;
                          const HostElements x(call.inputs[0]);
                          const HostElements y(call.outputs[0]);
                          call.on_host([=] {
                            for (int i = 0; i < 3; ++i) y.set(i, x.get(i) + 1);
                          });
                          driver.cuCtxSetCurrent(there.device.state()->context);
                          return 0;
                        }});
  Context context = compile(parse(kAdd), here.device, options).context();
  const Array x = here.upload({1, 2, 3});
  const Array z = here.device.empty(f32, {3});
  // After the call, a run on a foreign stream creates and records an event.
  const Stream wrapped = Stream::wrap(here.stream.handle(), here.device);
  for (int i = 0; i < 2; ++i) {
    context.run(wrapped, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
    EXPECT_THAT(here.device.download<float>(z, here.stream), ElementsAre(-3, -5, -7));
    context.replay(here.stream, {{"x", x}, {"term", 1.0F}}, {{"z", z}});
    EXPECT_THAT(here.device.download<float>(z, here.stream), ElementsAre(-3, -5, -7));
  }
  EXPECT_EQ(calls, 3);
  CUcontext current = nullptr;
  driver.cuCtxGetCurrent(&current);
  EXPECT_EQ(current, nullptr);
}

TEST_F(ManyDevices, WorkspaceFunctionsMayChangeTheContext) {
  const Driver& driver = host::host_driver();
  int workspace_queries = 0;
  OpaqueFunction plus{.enqueue = [](const OpaqueCall&) { return 0; }};
  plus.workspace = [&](const OpaqueSizes&) {
    ++workspace_queries;
    driver.cuCtxSetCurrent(there.device.state()->context);
    return 16;
  };
  const Registered registered("plus", plus);
  compile(parse(kAdd), here.device, options).prepare({{"n", 3}});
  EXPECT_GT(workspace_queries, 0);
  CUcontext current = nullptr;
  driver.cuCtxGetCurrent(&current);
  EXPECT_EQ(current, nullptr);
}

// ---- The context that is current after a call ----

/// The number of calls of each driver function so far.
std::vector<std::uint64_t> calls_so_far() {
  std::vector<std::uint64_t> counts;
  for (const DriverSymbol& symbol : kDriverSymbols) counts.push_back(host::calls(symbol.name));
  return counts;
}

/// False for calls that restore or release something, or describe an error.
bool can_fail(std::string_view call) {
  for (const std::string_view kept :
       {"cuCtxSetCurrent", "cuCtxGetCurrent", "cuThreadExchangeStreamCaptureMode", "cuMemFree",
        "cuMemFreeHost", "cuStreamDestroy", "cuEventDestroy", "cuGraphDestroy",
        "cuGraphExecDestroy", "cuModuleUnload", "cuUserObjectRelease", "cuGetErrorName",
        "cuGetErrorString"})
    if (call == kept) return false;
  return true;
}

class ContextsAreKept : public ManyDevices {
 protected:
  /// Calls `entry` normally and with each of its driver calls failing, first without a current
  /// context and then with that of another device.
  void check(const char* name, const std::function<void()>& entry) {
    SCOPED_TRACE(name);
    const Driver& driver = host::host_driver();
    for (CUcontext before : {CUcontext{nullptr}, there.device.state()->context}) {
      const auto make = [&] {
        driver.cuCtxSetCurrent(before);
        try {
          entry();
        } catch (const Error&) {
          ++failures;
        }
        CUcontext after = nullptr;
        driver.cuCtxGetCurrent(&after);
        EXPECT_EQ(after, before);
        driver.cuCtxSetCurrent(nullptr);
      };
      const std::vector<std::uint64_t> calls_before = calls_so_far();
      failures = 0;
      make();
      EXPECT_EQ(failures, 0);
      const std::vector<std::uint64_t> calls_after = calls_so_far();
      for (std::size_t i = 0; i < std::size(kDriverSymbols); ++i) {
        const char* const call = kDriverSymbols[i].name;
        const auto made = static_cast<int>(calls_after[i] - calls_before[i]);
        if (made == 0 || !can_fail(call)) continue;
        for (const int nth : {1, made}) {
          SCOPED_TRACE(fmt::format("{} {}", call, nth));
          host::inject_fault(call, nth, CUDA_ERROR_UNKNOWN);
          make();
          host::clear_faults();
          ++faults;
        }
      }
    }
  }

  int failures = 0;
  int faults = 0;
};

TEST_F(ContextsAreKept, ByEveryEntry) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/scaled.sinterx";
  const Graph graph = parse(kScaled);
  const Options tuned = {
      .tune = Tune::quick, .cache = {.mode = CacheMode::off}, .optimize_host = false};
  const Device device = here.device;
  const Stream stream = here.stream;
  const Array x = here.upload(std::vector<float>(300, 1));
  const Array y = device.empty(f32, {300});
  const Executable executable = compile(graph, device, options);
  const std::vector<float> values(300, 2);
  const PinnedArray pinned = device.pinned(f32, {300});
  const Event event = device.event();
  const Event later = device.event();
  event.record(stream);
  later.record(stream);
  Context context = executable.context();
  const Bindings bindings = context.bind({{"x", x}, {"factor", 2.0F}}, {{"y", y}});
  context.run(stream, bindings);
  executable.save(path);
  stream.synchronize();

  check("Device::empty", [&] { device.empty(f32, {3}); });
  check("Device::pinned", [&] { device.pinned(f32, {3}); });
  check("Device::stream", [&] { device.stream(); });
  check("Device::event", [&] { device.event(); });
  check("Device::upload", [&] { device.upload(x, values, stream); });
  check("Device::upload, pinned", [&] { device.upload(x, pinned, stream); });
  check("Device::download", [&] { device.download<float>(y, stream); });
  check("Device::copy", [&] { device.copy(x, y, stream); });
  check("Device::synchronize", [&] { device.synchronize(); });
  check("Stream::synchronize", [&] { stream.synchronize(); });
  check("Stream::wait", [&] { stream.wait(event); });
  check("Event::record", [&] { event.record(stream); });
  check("Event::synchronize", [&] { event.synchronize(); });
  check("Event::is_done", [&] { (void)event.is_done(); });
  check("Event::elapsed_since", [&] {
    event.record(stream);
    later.record(stream);
    later.synchronize();
    (void)later.elapsed_since(event);
  });
  int number = 0;
  check("compile and prepare", [&] {
    const std::string text =
        fmt::format("graph fresh(x: f32[n]) {{\n  h = mul x, 1.{}5\n  y = sum h\n  return y\n}}\n",
                    ++number % 3);
    compile(parse(text), device, tuned).prepare({{"n", 2000}});
  });
  check("Context::run", [&] {
    Context fresh = executable.context();
    fresh.run(stream, {{"x", x}, {"factor", 2.0F}}, {{"y", y}});
  });
  check("Context::run, outputs made", [&] {
    (void)context.run(stream, {{"x", x}, {"factor", 2}});
  });
  check("Context::replay", [&] {
    Context fresh = executable.context();
    fresh.replay(stream, bindings);
    fresh.replay(stream, {{"x", x}, {"factor", 3.0F}}, {{"y", y}});
  });
  check("Context::run elsewhere", [&] {
    context.run(device.stream(), bindings);
    context.run(stream, bindings);
  });
  check("Context::bind of what is wrapped", [&] {
    (void)context.bind({{"x", Array::wrap(x.pointer(), f32, {300}, device)}, {"factor", 2.0F}},
                       {{"y", y}});
  });
  check("profile", [&] { profile(context, bindings, {.repeats = 1}); });
  check("load", [&] { load(path, device); });
  EXPECT_GT(faults, 100);
  device.upload(x, values, stream);
  context.run(stream, bindings);
  EXPECT_THAT(device.download<float>(y, stream), Each(4 + 1200));
}

TEST_F(ContextsAreKept, ByRunsInACapture) {
  const Executable executable = compile(parse(kScaled), here.device, options);
  Context context = executable.context();
  const Array x = here.upload(std::vector<float>(300, 1));
  const Array y = here.device.empty(f32, {300});
  const Driver& driver = host::host_driver();
  check("Context::run", [&] {
    CUcontext before = nullptr;
    driver.cuCtxGetCurrent(&before);
    const auto in_context = [&](auto call) {
      const CurrentContext current(*here.device.state());
      return call(here.stream.state()->handle);
    };
    in_context([&](CUstream stream) {
      return driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    });
    const std::string error = error_of<Error>([&] {
      context.run(here.stream, {{"x", x}, {"factor", 2.0F}}, {{"y", y}});
    });
    CUcontext after = nullptr;
    driver.cuCtxGetCurrent(&after);
    EXPECT_EQ(after, before) << error;
    CUgraph graph = nullptr;
    in_context([&](CUstream stream) { return driver.cuStreamEndCapture(stream, &graph); });
    if (graph) in_context([&](CUstream) { return driver.cuGraphDestroy(graph); });
  });
  EXPECT_GT(faults, 10);
}

}  // namespace
}  // namespace sinter::test::many_devices_test
