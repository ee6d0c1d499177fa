// The memory pool and staged copies on a GPU, where streams run concurrently.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "sinter/counters.h"
#include "sinter/error.h"
#include "sinter/sinter.h"
#include "sinter/text.h"

namespace sinter::memory_gpu_test {
namespace {

class GpuMemory : public testing::Test {
 protected:
  void SetUp() override {
    try {
      gpu = cuda_device();
    } catch (const DriverError& error) {
      GTEST_SKIP() << error.what();
    }
    gpu->trim();
    // An interpreter of PTX does not overlap work with the host, so small arrays test as much.
    if (gpu->name().starts_with("virtual GPU")) count = 1 << 12;
  }

  std::optional<Device> gpu;
  std::int64_t count = 1 << 20;  ///< elements of an array
};

Graph twice() { return parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n"); }

/// The host drops its outputs far ahead of the GPU, which still reads them.
TEST_F(GpuMemory, ReuseWaitsForEarlierWork) {
  const Executable executable = compile(twice(), *gpu);
  std::vector<std::thread> threads;
  for (int number = 1; number <= 4; ++number)
    threads.emplace_back([&, number] {
      const Stream stream = gpu->stream();
      Context context = executable.context();
      const auto value = static_cast<float>(number);
      const Array x = gpu->empty(f32, {count});
      gpu->upload(x, std::vector<float>(static_cast<std::size_t>(count), value), stream);
      std::vector<Array> results;
      for (int i = 0; i < 20; ++i) {
        const Outputs once = context.run(stream, {{"x", x}});
        const Outputs again = context.run(stream, {{"x", once[0]}});
        const Array copy = gpu->empty(f32, {count});
        gpu->copy(again[0], copy, stream);
        results.push_back(context.run(stream, {{"x", copy}})[0]);
      }
      for (const Array& result : results)
        EXPECT_EQ(gpu->download<float>(result, stream),
                  std::vector<float>(static_cast<std::size_t>(count), 8 * value));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GpuMemory, ReuseNeedsNoAllocation) {
  const Executable executable = compile(twice(), *gpu);
  const Stream stream = gpu->stream();
  Context context = executable.context();
  const Array x = gpu->empty(f32, {count});
  gpu->upload(x, std::vector<float>(static_cast<std::size_t>(count), 1), stream);
  for (int i = 0; i < 3; ++i) (void)context.run(stream, {{"x", x}});
  const Counters before = counters();
  for (int i = 0; i < 1000; ++i) (void)context.run(stream, {{"x", x}});
  const Counters after = counters();
  EXPECT_EQ(after.memory_misses - before.memory_misses, 0);
  EXPECT_EQ(after.memory_hits - before.memory_hits, 1000);
  stream.synchronize();
  gpu->trim();
  EXPECT_EQ(counters().idle_device_bytes, 0);
}

TEST_F(GpuMemory, PageableCopiesKeepEveryByte) {
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < 3; ++number)
    threads.emplace_back([&, number] {
      const Stream stream = gpu->stream();
      std::vector<std::uint32_t> values(11'000'001);
      std::uint32_t next = number;
      for (std::uint32_t& value : values) value = next = next * 1664525 + 1013904223;
      const std::vector<std::uint32_t> expected = values;
      const Array array = gpu->empty(u32, {static_cast<std::int64_t>(values.size())});
      gpu->upload(array, values, stream);
      std::ranges::fill(values, 0U);  // allowed once the upload has returned
      EXPECT_EQ(gpu->download<std::uint32_t>(array, stream), expected);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sinter::memory_gpu_test
