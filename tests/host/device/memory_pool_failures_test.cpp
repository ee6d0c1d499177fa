// The memory pool during captures, failing driver calls and device failures.
#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/driver/host/execution/memory.h"
#include "sinter/text.h"
#include "tests/host/device/memory_pool_fixture.h"
#include "tests/support/doubles/stream_capture.h"
#include "tests/support/files/errors.h"

namespace sinter::memory_pool_failures_test {
namespace {

using ::testing::HasSubstr;

class MemoryPoolFailures : public test::MemoryPoolTest {
 protected:
  /// Uses memory on one stream, frees it, and reuses it on another stream.
  void reuse_on_another_stream() {
    const Array y = array();
    {
      const Array x = array();
      device.upload(x, ones, stream);
      device.copy(x, y, stream);
    }
    const Array z = array();
    device.upload(z, twos, other);
    const Array w = array();
    device.copy(z, w, other);
    EXPECT_EQ(download(w, other), all(2));
    EXPECT_EQ(download(y, stream), all(1));
  }

  const PinnedArray ones = pinned(1);
  const PinnedArray twos = pinned(2);
};

TEST_F(MemoryPoolFailures, SurvivesAnyFailedDriverCall) {
  device.trim();
  const std::uint64_t live = host::counters().live_allocations;
  for (const std::string call :
       {"cuMemAlloc", "cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventSynchronize",
        "cuStreamWaitEvent", "cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode",
        "cuCtxGetCurrent", "cuMemcpyHtoDAsync", "cuMemcpyDtoDAsync"}) {
    SCOPED_TRACE(call);
    for (int nth = 1; nth <= 30; ++nth) {
      host::configure({.seed = static_cast<std::uint64_t>(nth)});
      host::inject_fault(call, nth, CUDA_ERROR_UNKNOWN);
      try {
        reuse_on_another_stream();
      } catch (const DriverError& error) {
        EXPECT_THAT(error.what(), HasSubstr(call + " failed on the host device for "));
      }
      host::clear_faults();
      reuse_on_another_stream();
      device.synchronize();
    }
  }
  device.trim();
  EXPECT_EQ(host::counters().live_allocations, live);
  EXPECT_EQ(pool().bytes_in_use(), 0);
}

/// An event recorded on a captured stream does not mark the end of earlier work, so the pool cannot
/// track that memory.
TEST_F(MemoryPoolFailures, FreesMemoryReleasedDuringACapture) {
  const Array y = array();
  std::optional<Array> x = array();
  device.upload(*x, ones, stream);
  device.copy(*x, y, stream);
  const test::UserGraph graph(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
    x.reset();
    device.upload(y, twos, stream);
  });
  EXPECT_EQ(host::calls("cuMemFree"), 1u);
  EXPECT_EQ(download(y, stream), all(1));
  graph.launch(stream);
  EXPECT_EQ(download(y, stream), all(2));
}

/// A graph may be launched on any stream, so pending work must not use its memory.
TEST_F(MemoryPoolFailures, CapturedCopiesDoNotShareMemoryWithPendingWork) {
  const Stream third = device.stream();
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    host::configure({.seed = seed});
    const Array y = array();
    CUdeviceptr was = 0;
    {
      const Array x = array();
      was = address(x);
      device.upload(x, ones, stream);
      device.copy(x, y, stream);
    }
    const Array z = array();
    ASSERT_EQ(address(z), was);
    const test::UserGraph graph(other, CU_STREAM_CAPTURE_MODE_GLOBAL,
                                [&] { device.upload(z, twos, other); });
    graph.launch(third);
    EXPECT_EQ(download(z, third), all(2)) << "seed " << seed;
    EXPECT_EQ(download(y, stream), all(1)) << "seed " << seed;
  }
}

TEST_F(MemoryPoolFailures, CapturedRunsDoNotShareMemoryWithPendingWork) {
  const Stream third = device.stream();
  const Graph twice = parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n");
  const Executable executable = compile(twice, device, {.tune = Tune::off, .optimize_host = false});
  Context context = executable.context();
  const Array input = array();
  device.upload(input, twos, third);
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    host::configure({.seed = seed});
    const Array y = array();
    {
      const Array x = array();
      device.upload(x, ones, stream);
      device.copy(x, y, stream);
    }
    std::optional<Outputs> outputs;
    const test::UserGraph graph(other, CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
      outputs = context.run(other, {{"x", input}});
    });
    graph.launch(third);
    EXPECT_EQ(download((*outputs)[0], third), all(4)) << "seed " << seed;
    EXPECT_EQ(download(y, stream), all(1)) << "seed " << seed;
  }
}

/// Launches before the failure may still use the run's memory, on foreign streams as well as on our
/// own.
TEST_F(MemoryPoolFailures, FailedRunsKeepTheirMemory) {
  const Graph graph =
      parse("graph two(x: f32[n]) {\n  a = mul x, 2.0\n  y = add a, 1.0\n  return a, y\n}\n");
  const Executable executable =
      compile(graph, device, {.tune = Tune::off, .fuse = false, .optimize_host = false});
  for (const bool is_theirs : {false, true}) {
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
      host::configure({.seed = seed});
      Context context = executable.context();
      const Stream used = is_theirs ? Stream::wrap(stream.handle(), device) : stream;
      const Array a = array();
      {
        const Array x = array(), y = array();
        device.upload(x, ones, used);
        context.run(used, {{"x", x}}, {{"a", a}, {"y", y}});
        device.upload(x, ones, used);
        host::inject_fault("cuLaunchKernelEx", 2, CUDA_ERROR_UNKNOWN);
        EXPECT_THROW(context.run(used, {{"x", x}}, {{"a", a}, {"y", y}}), DriverError);
      }
      const Array z = array(), w = array();
      device.upload(z, twos, other);
      device.upload(w, twos, other);
      EXPECT_EQ(download(z, other), all(2));
      EXPECT_EQ(download(w, other), all(2));
      EXPECT_EQ(download(a, stream), all(2)) << "seed " << seed << " theirs " << is_theirs;
    }
  }
}

TEST_F(MemoryPoolFailures, TracksRunsWhoseEndCouldNotBeRecorded) {
  const Graph twice = parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n");
  const Executable executable = compile(twice, device, {.tune = Tune::off, .optimize_host = false});
  const Array from = array(), to = array(), y = array();
  const Stream theirs = Stream::wrap(stream.handle(), device);
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    host::configure({.seed = seed});
    Context context = executable.context();
    {
      const Array x = array();
      device.upload(x, ones, theirs);
      for (int i = 0; i < 50; ++i) device.copy(from, to, stream);
      host::inject_fault("cuEventRecord", 1, CUDA_ERROR_UNKNOWN);
      EXPECT_THROW(context.run(theirs, {{"x", x}}, {{"y", y}}), DriverError);
    }
    const Array z = array();
    device.upload(z, twos, other);
    EXPECT_EQ(download(z, other), all(2)) << "seed " << seed;
    EXPECT_EQ(download(y, stream), all(2)) << "seed " << seed;
  }
}

TEST_F(MemoryPoolFailures, FailedDevicesLeakNothing) {
  device.trim();
  const std::uint64_t live = host::counters().live_allocations;
  const Driver& driver = device.state()->driver;
  int failures = 0;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    host::configure({.seed = seed});
    {
      const CurrentContext current(*device.state());
      const Array x = array(), y = array();
      CUdeviceptr pointer = 0;
      ASSERT_EQ(driver.cuMemAlloc(&pointer, kBytes), CUDA_SUCCESS);
      const Array gone = Array::wrap(reinterpret_cast<void*>(pointer), f32, {kCount}, device);
      device.upload(x, ones, stream);
      device.copy(x, gone, stream);  // may run after `gone` is freed
      device.copy(x, y, stream);
      const auto free = [](void* start) {
        host::free_memory(reinterpret_cast<std::uintptr_t>(start));
      };
      ASSERT_EQ(
          driver.cuLaunchHostFunc(other.state()->handle, free, reinterpret_cast<void*>(pointer)),
          CUDA_SUCCESS);
      try {
        device.synchronize();
      } catch (const DriverError&) {
        ++failures;
        EXPECT_THROW((void)device.empty(f32, {3 * kCount}), DriverError);
      }
    }
    device.trim();
    EXPECT_EQ(host::counters().live_allocations, live) << "seed " << seed;
    host::clear_error();
    reuse_on_another_stream();
    device.trim();
  }
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace sinter::memory_pool_failures_test
