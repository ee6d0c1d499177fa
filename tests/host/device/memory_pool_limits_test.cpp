// Limits of the memory pool: exhausted memory, more streams than it tracks, and recycled stream
// handles.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "sinter/text.h"
#include "tests/host/device/memory_pool_fixture.h"
#include "tests/support/files/errors.h"

namespace sinter::memory_pool_limits_test {
namespace {

using MemoryPoolLimits = test::MemoryPoolTest;

constexpr const char* kTwice = "graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n";

std::atomic<bool>& was_refused() {
  static std::atomic<bool> result = false;
  return result;
}
std::atomic<bool>& is_freeing() {
  static std::atomic<bool> result = false;
  return result;
}

/// The host device, whose frees take up to 10 s, until an allocation has failed.
Device slow_device() {
  static const Driver driver = [] {
    Driver table = host::host_driver();
    table.cuMemAlloc = [](CUdeviceptr* pointer, std::size_t bytes) {
      const CUresult result = host::host_driver().cuMemAlloc(pointer, bytes);
      if (result == CUDA_ERROR_OUT_OF_MEMORY) was_refused() = true;
      return result;
    };
    table.cuMemFree = [](CUdeviceptr pointer) {
      is_freeing() = true;
      for (int i = 0; i < 10000 && !was_refused(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return host::host_driver().cuMemFree(pointer);
    };
    return table;
  }();
  static auto& state = *new DeviceState(driver, 0);
  return Device(&state);
}

/// Memory that one thread is about to free is available to another.
TEST_F(MemoryPoolLimits, AllocationsWaitForFreesOfOtherThreads) {
  const Device slow = slow_device();
  slow.state()->memory_pool->set_idle_limit(1 << 30);
  host::configure({.memory_bytes = host::counters().live_bytes + 8000});
  { const Array idle = slow.empty(u8, {8000}); }
  std::thread another([&] { slow.trim(); });
  while (!is_freeing()) std::this_thread::yield();
  EXPECT_EQ(test::error_of<DriverError>([&] { (void)slow.empty(u8, {6000}); }), "(nothing thrown)");
  EXPECT_TRUE(was_refused());
  another.join();
  slow.trim();
}

TEST_F(MemoryPoolLimits, DriverMemoryErrorsTrimThePool) {
  const Options options{
      .tune = Tune::off, .cache = {.mode = CacheMode::off}, .optimize_host = false};
  const PinnedArray ones = pinned(1);
  const Array x = array(), y = array();
  device.upload(x, ones, stream);
  int number = 700;
  for (const std::string call : {"cuModuleLoadData", "cuGraphInstantiateWithFlags"}) {
    SCOPED_TRACE(call);
    ++number;  // a kernel that no other test compiles
    const Graph graph =
        parse(fmt::format("graph more(x: f32[n]) {{\n  y = add x, {}.0\n  return y\n}}\n", number));
    { const Array idle = array(); }
    ASSERT_EQ(pool().idle_bytes(), kBytes);
    host::inject_fault(call, 1, CUDA_ERROR_OUT_OF_MEMORY);
    compile(graph, device, options).context().replay(stream, {{"x", x}}, {{"y", y}});
    EXPECT_EQ(download(y, stream), all(static_cast<float>(number + 1)));
    EXPECT_EQ(pool().idle_bytes(), 0);
  }
}

TEST_F(MemoryPoolLimits, DoesNotKeepStreamsAlive) {
  const PinnedArray ones = pinned(1);
  const Array x = array();
  constexpr int kStreams = 17;  // the pool tracks 16
  for (int i = 0; i < kStreams; ++i) device.upload(x, ones, device.stream());
  EXPECT_EQ(host::calls("cuStreamDestroy"), kStreams);
  device.upload(x, ones, device.stream());
  EXPECT_EQ(host::calls("cuStreamDestroy"), kStreams + 1);
  device.synchronize();
  EXPECT_EQ(download(x, stream), all(1));
}

/// The pool still waits for the earlier use of the memory if it cannot track a later one.
TEST_F(MemoryPoolLimits, UntrackedUsesDoNotHideEarlierOnes) {
  const PinnedArray ones = pinned(1), one = device.pinned(f32, {1});
  const CurrentContext current(*device.state());
  const Driver& driver = device.state()->driver;
  CUstream handle = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const Array y = array();
  {
    const Array x = array();
    device.upload(x, ones, stream);
    device.copy(x, y, stream);
  }
  const Array z = array();
  host::inject_fault("cuEventRecord", 1, CUDA_ERROR_UNKNOWN);
  device.upload(z.view(0, f32, {1}), one, Stream::wrap(handle, device));
  // The CPU may write at once.
  std::fill_n(static_cast<float*>(z.pointer()) + 1, kCount - 1, 7.0F);
  EXPECT_EQ(download(y, stream), all(1));
  EXPECT_EQ(download(z, stream)[1], 7.0F);
  EXPECT_EQ(driver.cuStreamDestroy(handle), CUDA_SUCCESS);
}

std::atomic<bool>& is_awaited() {
  static std::atomic<bool> result = false;
  return result;
}
std::atomic<bool>& may_end() {
  static std::atomic<bool> result = false;
  return result;
}

/// The host device, whose event waits take up to 10 s, until `may_end` is set.
Device late_device() {
  static const Driver driver = [] {
    Driver table = host::host_driver();
    table.cuEventSynchronize = [](CUevent event) {
      is_awaited() = true;
      for (int i = 0; i < 10000 && !may_end(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return may_end() ? host::host_driver().cuEventSynchronize(event) : CUDA_ERROR_UNKNOWN;
    };
    return table;
  }();
  static auto& state = *new DeviceState(driver, 0);
  return Device(&state);
}

/// One thread waits for the earlier use. Meanwhile, another thread may use the memory, which the
/// awaited work may depend on.
TEST_F(MemoryPoolLimits, WaitingThreadsDoNotBlockOthers) {
  const Device late = late_device();
  late.state()->memory_pool->set_idle_limit(1 << 20);
  const Stream first = late.stream(), second = late.stream();
  const PinnedArray ones = late.pinned(f32, {kCount});
  std::ranges::fill(ones.elements_as<float>(), 1.0F);
  { late.upload(late.empty(f32, {kCount}), ones, first); }
  const Array again = late.empty(f32, {kCount});
  std::string problem;
  std::thread waiting(
      [&] { problem = test::error_of<DriverError>([&] { (void)again.pointer(); }); });
  while (!is_awaited()) std::this_thread::yield();
  late.upload(again, ones, second);
  may_end() = true;
  waiting.join();
  EXPECT_EQ(problem, "(nothing thrown)");
  second.synchronize();
}

std::uint64_t& recycled() {
  static std::uint64_t times = 0;
  return times;
}

/// The host device, where each increment of `recycled` makes handles refer to new streams.
Device recycling_device() {
  static const Driver driver = [] {
    Driver table = host::host_driver();
    table.cuStreamGetId = [](CUstream stream, unsigned long long* id) {
      *id = 0;
      const CUresult result = host::host_driver().cuStreamGetId(stream, id);
      *id += recycled() << 32;
      return result;
    };
    return table;
  }();
  static auto& state = *new DeviceState(driver, 0);
  return Device(&state);
}

TEST_F(MemoryPoolLimits, DistinguishesStreamsWithRecycledHandles) {
  const Device recycling = recycling_device();
  recycling.state()->memory_pool->set_idle_limit(std::int64_t{1} << 30);
  const Executable executable =
      compile(parse(kTwice), recycling, {.tune = Tune::off, .optimize_host = false});
  const CurrentContext current(*recycling.state());
  CUstream handle = nullptr;
  ASSERT_EQ(recycling.state()->driver.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING),
            CUDA_SUCCESS);
  const Array x = recycling.empty(f32, {kCount}), y = recycling.empty(f32, {kCount});
  Context context = executable.context();
  const auto waits = [&] {
    const std::uint64_t before = host::calls("cuStreamWaitEvent");
    context.run(Stream::wrap(handle, recycling), {{"x", x}}, {{"y", y}});
    return host::calls("cuStreamWaitEvent") - before;
  };
  waits();
  EXPECT_EQ(waits(), 0u);
  ++recycled();
  EXPECT_EQ(waits(), 1u);
  EXPECT_EQ(waits(), 0u);
  recycling.synchronize();
  EXPECT_EQ(recycling.state()->driver.cuStreamDestroy(handle), CUDA_SUCCESS);
}

}  // namespace
}  // namespace sinter::memory_pool_limits_test
