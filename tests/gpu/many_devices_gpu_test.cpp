// Several GPUs in one process; skipped on machines with fewer than two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/device/device_state.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::many_devices_gpu_test {
namespace {

using ::testing::HasSubstr;

TEST(ManyGpus, RunConcurrently) {
  std::vector<Device> gpus = devices();
  std::erase_if(gpus, [](const Device& device) { return device.is_host(); });
  if (gpus.size() < 2) GTEST_SKIP() << "there are no two CUDA devices";
  const Graph graph = parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n");
  std::vector<Executable> executables;
  for (const Device& gpu : gpus) executables.push_back(compile(graph, gpu));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      const Driver& driver = gpus[0].state()->driver;
      for (std::size_t i = 0; i < 20; ++i) {
        const std::size_t which = (thread + i) % gpus.size();
        const Stream stream = gpus[which].stream();
        const Array x = gpus[which].empty(f32, {1000});
        gpus[which].upload(x, std::vector<float>(1000, static_cast<float>(i)), stream);
        Context context = executables[which].context();
        const Outputs outputs = context.run(stream, {{"x", x}});
        wrong += gpus[which].download<float>(outputs[0], stream) !=
                 std::vector<float>(1000, 2 * static_cast<float>(i));
        CUcontext current = nullptr;
        driver.cuCtxGetCurrent(&current);
        wrong += current != nullptr;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  Context context = executables[0].context();
  EXPECT_THAT(test::error_of([&] {
                (void)context.run(gpus[0].stream(), {{"x", gpus[1].empty(f32, {8})}});
              }),
              HasSubstr("(cuda:1) but the program was compiled for"));
}

}  // namespace
}  // namespace sinter::many_devices_gpu_test
