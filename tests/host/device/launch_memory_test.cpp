// A launch that runs out of device memory is tried again after idle memory has been released. The
// first launch of a kernel or of a graph may allocate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/text.h"
#include "tests/host/device/memory_pool_fixture.h"
#include "tests/support/files/errors.h"

namespace sinter::launch_memory_test {
namespace {

using ::testing::HasSubstr;

struct Mode {
  const char* call;
  bool as_graph;
};

class LaunchMemory : public test::MemoryPoolTest, public testing::WithParamInterface<Mode> {
 protected:
  void run() {
    const std::vector<Binding> inputs = {{"x", x}}, outputs = {{"y", y}};
    GetParam().as_graph ? context.replay(stream, inputs, outputs)
                        : context.run(stream, inputs, outputs);
  }
  void add_idle_memory() {
    const Array idle = array();
    device.upload(idle, ones, stream);
    stream.synchronize();
  }

  const Executable executable =
      compile(parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n"), device,
              {.tune = Tune::off, .optimize_host = false});
  Context context = executable.context();
  const Array x = array(), y = array();
  const PinnedArray ones = pinned(1);
};

TEST_P(LaunchMemory, IdleMemoryIsReleasedForALaunch) {
  device.upload(x, ones, stream);
  run();
  add_idle_memory();
  ASSERT_GT(pool().idle_bytes(), 0);
  host::inject_fault(GetParam().call, 1, CUDA_ERROR_OUT_OF_MEMORY);
  run();
  EXPECT_EQ(pool().idle_bytes(), 0);
  EXPECT_EQ(download(y, stream), all(2));
}

TEST_P(LaunchMemory, WithoutIdleMemoryTheLaunchFails) {
  run();
  device.synchronize();
  device.trim();
  host::inject_fault(GetParam().call, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(test::error_of<DriverError>([&] { run(); }),
              HasSubstr(std::string(GetParam().call) + " failed on the host device for "));
}

INSTANTIATE_TEST_SUITE_P(Modes, LaunchMemory,
                         testing::Values(Mode{"cuLaunchKernelEx", false},
                                         Mode{"cuGraphLaunch", true}),
                         [](const auto& mode) { return mode.param.call; });

}  // namespace
}  // namespace sinter::launch_memory_test
