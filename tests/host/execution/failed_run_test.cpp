// Runs that fail half-way, or whose end cannot be recorded. Later runs wait for their queued work.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/opaque.h"
#include "sinter/sinter.h"
#include "sinter/text.h"
#include "tests/support/doubles/stream_capture.h"
#include "tests/support/run/list_runs.h"

namespace sinter::failed_run_test {
namespace {

constexpr std::int64_t kCount = 1000;
constexpr std::uint64_t kSeeds = 32;
const Options kQuick = {.tune = Tune::off, .fuse = false, .optimize_host = false};

class FailedRun : public ::testing::TestWithParam<bool> {
 protected:
  FailedRun() {
    EXPECT_EQ(driver.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    theirs.emplace(Stream::wrap(handle, device));
  }
  ~FailedRun() override {
    host::clear_faults();
    device.synchronize();
    pool().set_idle_limit(0);
    host::configure({});
    EXPECT_EQ(driver.cuStreamDestroy(handle), CUDA_SUCCESS);
  }
  MemoryPool& pool() const { return *device.state()->memory_pool; }

  Array filled(float value) const {
    const Array x = device.empty(f32, {kCount});
    device.upload(x, std::vector<float>(kCount, value), stream);
    stream.synchronize();
    return x;
  }
  /// Three kernels, whose temporaries are in one arena.
  Executable compiled() const {
    return compile(parse("graph steps(x: f32[n]) {\n  a = mul x, 2.0\n  b = add a, 1.0\n"
                         "  y = mul b, 3.0\n  return y\n}\n"),
                   device, kQuick);
  }
  static std::vector<float> all(float value) { return std::vector<float>(kCount, value); }

  const Device device = host_device();
  const Driver& driver = device.state()->driver;
  const CurrentContext current{*device.state()};
  const Stream stream = device.stream();
  const Stream other = device.stream();
  CUstream handle = nullptr;
  std::optional<Stream> theirs;
};

/// Work after the event of an earlier run is also awaited.
TEST_P(FailedRun, LaterRunsWaitForItsLaunches) {
  pool().set_idle_limit(GetParam() ? std::int64_t{1} << 30 : 0);
  const Executable executable = compiled();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    host::configure({.seed = seed});
    const Array five = filled(5), seven = filled(7);
    const Array y = filled(0), z = filled(0), w = filled(0);
    Context context = executable.context();
    context.run(*theirs, {{"x", seven}}, {{"y", y}});
    host::inject_fault("cuLaunchKernelEx", 2, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_THROW(context.run(stream, {{"x", five}}, {{"y", z}}), DriverError);
    host::clear_faults();
    context.run(other, {{"x", seven}}, {{"y", w}});
    EXPECT_EQ(device.download<float>(w, other), all(45)) << "seed " << seed;
    device.synchronize();
  }
}

TEST_P(FailedRun, LaterRunsWaitIfItsEndCouldNotBeRecorded) {
  pool().set_idle_limit(GetParam() ? std::int64_t{1} << 30 : 0);
  const Executable executable = compiled();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    host::configure({.seed = seed});
    const Array five = filled(5), seven = filled(7);
    const Array y = filled(0), w = filled(0);
    Context context = executable.context();
    host::inject_fault("cuEventRecord", 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_THROW(context.run(*theirs, {{"x", five}}, {{"y", y}}), DriverError);
    host::clear_faults();
    context.run(other, {{"x", seven}}, {{"y", w}});
    EXPECT_EQ(device.download<float>(w, other), all(45)) << "seed " << seed;
    device.synchronize();
  }
}

INSTANTIATE_TEST_SUITE_P(Pooled, FailedRun, ::testing::Bool());

/// A Context with pending host work on a foreign stream, whose end could not be recorded.
class UnmarkedEnd : public FailedRun {
 protected:
  UnmarkedEnd() {
    has_run = 0;
    register_opaque("unmarked_later", OpaqueFunction{.enqueue = [](const OpaqueCall& call) {
                      call.on_host([] { ++has_run; });
                      return 0;
                    }});
    const Executable executable =
        compile(parse("graph add(x: f32[n]) {\n  y = opaque unmarked_later x : f32[n]\n"
                      "  return y\n}\n"),
                device, kQuick);
    context.emplace(executable.context());
    host::inject_fault("cuEventRecord", 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_THROW(context->run(*theirs, {{"x", x}}, {{"y", y}}), DriverError);
    host::clear_faults();
    EXPECT_EQ(has_run, 0);
  }
  ~UnmarkedEnd() override { unregister_opaque("unmarked_later"); }

  static inline int has_run = 0;
  const Array x = filled(1), y = filled(0);
  std::optional<Context> context;
};

/// Pending host work belongs to the Context.
TEST_F(UnmarkedEnd, DestructorWaitsForHostWork) {
  context.reset();
  EXPECT_EQ(has_run, 1);
}

/// Waiting would invalidate the capture, so the Context's resources are released later.
TEST_F(UnmarkedEnd, ReleaseIsDeferredDuringACapture) {
  const auto let_go = [&] {
    context.reset();
    EXPECT_EQ(has_run, 0);
  };
  EXPECT_THROW(test::UserGraph(other, CU_STREAM_CAPTURE_MODE_RELAXED, let_go), DriverError);
  device.synchronize();
  EXPECT_EQ(has_run, 1);
}

using FailedTables = FailedRun;

TEST_F(FailedTables, AreRebuiltByTheNextRun) {
  test::ListRuns lists(device, test::kManyArrays);
  for (std::size_t i = 0;
       const std::string call : {"cuEventCreate", "cuEventRecord", "cuMemcpyHtoDAsync"}) {
    SCOPED_TRACE(call);
    Context context = lists.executable().context();
    lists.add(1);
    lists.add(2);
    host::inject_fault(call, 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_THROW(lists.run(i, context, stream, /*as_graph=*/false), DriverError);
    host::clear_faults();
    lists.run(i + 1, context, stream, /*as_graph=*/false);
    stream.synchronize();
    EXPECT_EQ(lists.ends(i + 1), lists.expected(2));
    i += 2;
  }
}

}  // namespace
}  // namespace sinter::failed_run_test
