// Devices that differ from the GPUs of the target table: other architectures, few SMs, little
// memory, coherent memory, and no clusters. They give the results of an H200.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/files/scratch_folder.h"
#include "tests/virtual_gpu/product/lifecycle.h"

namespace sinter::virtual_gpu::unusual_devices_test {
namespace {

using ::testing::AllOf;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr const char* kUsual = "sm_90 sms=4 l2=64k, sm_90 sms=4 l2=64k";

std::vector<float> run_on(const std::string& gpus) {
  const test::ScratchFolder folder;
  const Lifecycle lifecycle(folder.path());
  const TestDriver driver({{"VIRTUAL_GPUS", gpus.c_str()}});
  const TwoGpus both(driver);
  return lifecycle.run(both);
}

class UnusualDevices : public testing::TestWithParam<const char*> {};

TEST_P(UnusualDevices, GiveTheResultsOfUsualOnes) {
  const std::vector<float> expected = run_on(kUsual);
  const std::vector<float> actual = run_on(fmt::format("{0} l2=64k, {0} l2=64k", GetParam()));
  EXPECT_THAT(actual, Pointwise(FloatNear(1e-4F), expected));
}

INSTANTIATE_TEST_SUITE_P(Descriptions, UnusualDevices,
                         testing::Values("sm_75 sms=1", "sm_87 sms=2", "sm_88", "sm_90 sms=1",
                                         "sm_90 sms=3 coherent", "sm_90 sms=4 no_clusters",
                                         "sm_103 sms=2", "sm_110", "sm_120 sms=2 no_clusters",
                                         "sm_121 memory=8m"));

constexpr std::int64_t kMemory = 1 << 20;  ///< bytes of the device
constexpr std::int64_t kMost = kMemory / 4;

/// Fills the device with arrays. Returns them; `message` gets the error that ends this.
std::vector<Array> fill(const Device& device, std::string& message) {
  std::vector<Array> arrays;
  try {
    while (true) arrays.push_back(device.empty(f32, {kMost / 8}));
  } catch (const DriverError& error) {
    EXPECT_EQ(error.code(), 2);
    message = error.what();
  }
  return arrays;
}

TEST(FullDevices, SayWhoHoldsTheMemory) {
  const TestDriver driver({{"VIRTUAL_GPUS", "sm_90 sms=2 memory=1m, sm_90 sms=2"}});
  const TwoGpus gpus(driver);
  const Device device = gpus.first();
  std::string message;
  {
    const std::vector<Array> arrays = fill(device, message);
    EXPECT_GT(arrays.size(), 4);
  }
  EXPECT_THAT(message, AllOf(HasSubstr("cuMemAlloc failed on the cuda device for f32["),
                             HasSubstr("CUDA_ERROR_OUT_OF_MEMORY (error 2: out of memory)"),
                             HasSubstr("Arrays and Contexts hold "), HasSubstr("release some")));
  // Idle memory of the pool returns to the driver when a larger array needs it.
  device.state()->memory_pool->set_idle_limit(kMemory);
  fill(device, message);
  const Array whole = device.empty(f32, {kMost * 3 / 4});
  EXPECT_EQ(whole.bytes(), kMemory * 3 / 4);
}

/// A run that finds no memory for its scratch space leaves the Context usable.
TEST(FullDevices, RunAfterMemoryIsReleased) {
  const TestDriver driver({{"VIRTUAL_GPUS", "sm_90 sms=2 memory=1m l2=64k, sm_90 sms=2"}});
  const TwoGpus gpus(driver);
  const Device device = gpus.first();
  const Stream stream = device.stream();
  const Executable executable = compile(
      parse("graph two(x: f32[n]) {\n  a = exp x\n  s = sum a\n  y = div a, s\n  return y\n}\n"),
      device, {.tune = Tune::off, .fuse = false, .cache = {.mode = CacheMode::off}, .ptx = true});
  Context context = executable.context();
  const Array x = device.empty(f32, {1000});
  device.upload(x, std::vector<float>(1000, 0), stream);
  const Array y = device.empty(f32, {1000});
  std::string message;
  std::optional<std::vector<Array>> arrays = fill(device, message);
  std::vector<Array> rest;
  try {
    while (true) rest.push_back(device.empty(f32, {64}));
  } catch (const DriverError&) {  // no memory is left
  }
  EXPECT_THROW(context.run(stream, {{"x", x}}, {{"y", y}}), DriverError);
  arrays.reset();
  context.run(stream, {{"x", x}}, {{"y", y}});
  EXPECT_THAT(device.download<float>(y, stream),
              Pointwise(FloatNear(1e-6F), std::vector<float>(1000, 1e-3F)));
}

}  // namespace
}  // namespace sinter::virtual_gpu::unusual_devices_test
