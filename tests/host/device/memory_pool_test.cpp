// The memory pool keeps freed memory. It reuses the memory after earlier work on it, for any order
// in which the device executes its queues.
#include <gmock/gmock.h>

#include <thread>

#include "sinter/counters.h"
#include "sinter/text.h"
#include "tests/host/device/memory_pool_fixture.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::memory_pool_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using MemoryPool = test::MemoryPoolTest;

constexpr std::uint64_t kSeeds = 16;

TEST_F(MemoryPool, ReuseNeedsNoAllocationOrWait) {
  const PinnedArray ones = pinned(1);
  const Counters before = counters();
  for (int i = 0; i < 10; ++i) {
    const Array x = array();
    const Array y = array();
    device.upload(x, ones, stream);
    device.copy(x, y, stream);
  }
  const Counters after = counters();
  EXPECT_EQ(host::calls("cuMemAlloc"), 2u);
  EXPECT_EQ(host::calls("cuMemFree"), 0u);
  EXPECT_EQ(host::counters().synchronizations, 0u);
  EXPECT_EQ(after.memory_misses - before.memory_misses, 2);
  EXPECT_EQ(after.memory_hits - before.memory_hits, 18);
  EXPECT_EQ(after.device_bytes, before.device_bytes);
  EXPECT_EQ(after.idle_device_bytes - before.idle_device_bytes, 2 * kBytes);
}

/// A read on one stream precedes a write on another stream, to another array in the same memory.
TEST_F(MemoryPool, ReuseWaitsForEarlierWork) {
  const PinnedArray ones = pinned(1), twos = pinned(2);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
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
    device.upload(z, twos, other);
    EXPECT_EQ(download(z, other), all(2)) << "seed " << seed;
    EXPECT_EQ(download(y, stream), all(1)) << "seed " << seed;
  }
}

TEST_F(MemoryPool, WaitsForAllStreamsThatUsedIt) {
  const PinnedArray ones = pinned(1), twos = pinned(2);
  const Stream third = device.stream();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    host::configure({.seed = seed});
    const Array y = array(), z = array();
    CUdeviceptr was = 0;
    {
      const Array x = array();
      was = address(x);
      device.upload(x, ones, stream);
      const Event there = device.event();
      there.record(stream);
      other.wait(there);
      device.copy(x, y, stream);
      device.copy(x.view(0, f32, {kCount}), z, other);
    }
    const Array w = array();
    ASSERT_EQ(address(w), was);
    device.upload(w, twos, third);
    EXPECT_EQ(download(w, third), all(2)) << "seed " << seed;
    EXPECT_EQ(download(y, stream), all(1)) << "seed " << seed;
    EXPECT_EQ(download(z, other), all(1)) << "seed " << seed;
  }
}

/// Each later stream waits, not only the first. An array that was never used passes its pending
/// waits on.
TEST_F(MemoryPool, EveryLaterStreamWaits) {
  const PinnedArray ones = pinned(1), twos = pinned(2);
  const Stream third = device.stream();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    host::configure({.seed = seed});
    const Array y = array();
    CUdeviceptr was = 0;
    {
      const Array x = array();
      was = address(x);
      device.upload(x, ones, stream);
      device.copy(x, y, stream);
    }
    { const Array unused = array(); }
    const Array z = array();
    ASSERT_EQ(address(z), was);
    const PinnedArray half = device.pinned(f32, {kCount / 2});
    std::ranges::fill(half.elements_as<float>(), 3.0F);
    device.upload(z.view(0, f32, {kCount / 2}), half, other);
    device.upload(z.view(kBytes / 2, f32, {kCount / 2}), half, third);
    third.synchronize();
    EXPECT_EQ(download(z, other), all(3)) << "seed " << seed;
    EXPECT_EQ(download(y, stream), all(1)) << "seed " << seed;
  }
}

TEST_F(MemoryPool, IsCorrectAfterForeignStreamsAreDestroyed) {
  const PinnedArray ones = pinned(1), twos = pinned(2);
  const Driver& driver = device.state()->driver;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    host::configure({.seed = seed});
    const CurrentContext current(*device.state());
    const Array y = array();
    CUdeviceptr was = 0;
    {
      CUstream handle = nullptr;
      ASSERT_EQ(driver.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      const Stream theirs = Stream::wrap(handle, device);
      const Array x = array();
      was = address(x);
      device.upload(x, ones, theirs);
      device.copy(x, y, theirs);
      ASSERT_EQ(driver.cuStreamDestroy(handle), CUDA_SUCCESS);
    }
    const Array z = array();
    ASSERT_EQ(address(z), was);
    device.upload(z, twos, other);
    EXPECT_EQ(download(z, other), all(2)) << "seed " << seed;
    device.synchronize();
    EXPECT_EQ(download(y, stream), all(1)) << "seed " << seed;
  }
}

TEST_F(MemoryPool, ServesOutputsOfRuns) {
  const Graph graph = parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n");
  const Executable executable = compile(graph, device, {.tune = Tune::off, .optimize_host = false});
  Context context = executable.context();
  const PinnedArray ones = pinned(1);
  for (const bool is_theirs : {false, true}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      host::configure({.seed = seed});
      const Stream stream = is_theirs ? Stream::wrap(this->stream.handle(), device) : this->stream;
      host::reset_counters();
      std::vector<Array> copies;
      for (int i = 0; i < 12; ++i) copies.push_back(array());
      for (const Array& copy : copies) {
        const Array x = array();
        device.upload(x, ones, stream);
        const Outputs first = context.run(stream, {{"x", x}});
        const Outputs second = context.run(stream, {{"x", first[0]}});
        device.copy(second[0], copy, stream);
      }
      EXPECT_LE(host::calls("cuMemAlloc"), seed == 0 ? 15u : 3u);
      EXPECT_EQ(host::counters().synchronizations, 0u);
      // Reuses all memory of the last iteration.
      const PinnedArray fives = pinned(5);
      const Array late[] = {array(), array(), array()};
      for (const Array& each : late) device.upload(each, fives, other);
      other.synchronize();
      for (const Array& copy : copies)
        EXPECT_EQ(download(copy, stream), all(4)) << "seed " << seed << " theirs " << is_theirs;
    }
  }
}

TEST_F(MemoryPool, IsCorrectAfterRunsOnOtherMemory) {
  const Graph graph = parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n");
  const Executable executable = compile(graph, device, {.tune = Tune::off, .optimize_host = false});
  const PinnedArray ones = pinned(1), twos = pinned(2);
  const Array from = array(), to = array(), y = array();
  const Driver& driver = device.state()->driver;
  const CurrentContext current(*device.state());
  CUdeviceptr pointers[2] = {};
  for (CUdeviceptr& pointer : pointers)
    ASSERT_EQ(driver.cuMemAlloc(&pointer, kBytes), CUDA_SUCCESS);
  const auto theirs = [&](int i) {
    return Array::wrap(reinterpret_cast<void*>(pointers[i]), f32, {kCount}, device);
  };
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    host::configure({.seed = seed});
    Context context = executable.context();
    const Stream first = Stream::wrap(stream.handle(), device);
    const Stream second = Stream::wrap(other.handle(), device);
    CUdeviceptr was = 0;
    {
      const Array x = array();
      was = address(x);
      device.upload(x, ones, first);
      for (int i = 0; i < 50; ++i) device.copy(from, to, first);
      context.run(first, {{"x", x}}, {{"y", y}});
      context.run(first, {{"x", theirs(0)}}, {{"y", theirs(1)}});
      context.run(second, {{"x", from}}, {{"y", to}});
    }
    const Array z = array();
    ASSERT_EQ(address(z), was);
    device.upload(z, twos, second);
    EXPECT_EQ(download(z, second), all(2)) << "seed " << seed;
    EXPECT_EQ(download(y, stream), all(2)) << "seed " << seed;
  }
  device.synchronize();
  for (const CUdeviceptr pointer : pointers) EXPECT_EQ(driver.cuMemFree(pointer), CUDA_SUCCESS);
}

/// A wrapped handle may be one of our own streams, which the Context has already used.
TEST_F(MemoryPool, IsCorrectOnWrappedHandlesOfOurStreams) {
  const Graph graph = parse("graph twice(x: f32[n]) {\n  y = mul x, 2.0\n  return y\n}\n");
  const Executable executable = compile(graph, device, {.tune = Tune::off, .optimize_host = false});
  const PinnedArray ones = pinned(1), twos = pinned(2);
  const Array from = array(), to = array(), y = array();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    host::configure({.seed = seed});
    Context context = executable.context();
    context.run(stream, {{"x", from}}, {{"y", to}});
    const Stream same = Stream::wrap(stream.handle(), device);
    CUdeviceptr was = 0;
    {
      const Array x = array();
      was = address(x);
      device.upload(x, ones, same);
      for (int i = 0; i < 50; ++i) device.copy(from, to, stream);
      context.run(same, {{"x", x}}, {{"y", y}});
    }
    const Array z = array();
    ASSERT_EQ(address(z), was);
    device.upload(z, twos, other);
    EXPECT_EQ(download(z, other), all(2)) << "seed " << seed;
    EXPECT_EQ(download(y, stream), all(2)) << "seed " << seed;
  }
}

/// The pool does not know how the caller uses a pointer.
TEST_F(MemoryPool, FreesArraysWhosePointerWasRequested) {
  { EXPECT_NE(array().pointer(), nullptr); }
  EXPECT_EQ(host::calls("cuMemFree"), 1u);
  EXPECT_EQ(pool().idle_bytes(), 0);
}

TEST_F(MemoryPool, RequestingAPointerWaitsForEarlierWork) {
  const PinnedArray ones = pinned(1);
  const Array y = array();
  {
    const Array x = array();
    device.upload(x, ones, stream);
    device.copy(x, y, stream);
  }
  const Array z = array();
  // The CPU may write at once.
  std::fill_n(static_cast<float*>(z.pointer()), kCount, 7.0F);
  EXPECT_EQ(download(y, stream), all(1));
  EXPECT_EQ(download(z, stream), all(7));
}

TEST_F(MemoryPool, DoesNotCoupleThreads) {
  const PinnedArray ones = pinned(1);
  CUdeviceptr was = 0;
  std::thread([&] {
    const Array x = array();
    was = address(x);
    device.upload(x, ones, other);
  }).join();
  EXPECT_NE(address(array()), was);
  other.synchronize();
  pool().set_idle_limit(kBytes);
  EXPECT_EQ(pool().idle_bytes(), kBytes);
}

TEST_F(MemoryPool, IsCorrectInManyThreads) {
  host::configure({.seed = 3});
  std::vector<std::jthread> threads;
  for (int number = 1; number <= 4; ++number)
    threads.emplace_back([this, number] {
      const Stream mine = device.stream();
      const PinnedArray values = pinned(static_cast<float>(number));
      for (int i = 0; i < 50; ++i) {
        const Array y = array();
        {
          const Array x = array();
          device.upload(x, values, mine);
          device.copy(x, y, mine);
        }
        const Array z = array();
        device.copy(y, z, mine);
        EXPECT_EQ(download(z, mine), all(static_cast<float>(number)));
      }
    });
}

TEST_F(MemoryPool, IsPerDevice) {
  const Device second = host_device(1);
  second.state()->memory_pool->set_idle_limit(1 << 20);
  CUdeviceptr was = 0;
  {
    const Array theirs = second.empty(f32, {kCount});
    was = address(theirs);
  }
  EXPECT_NE(address(array()), was);
  EXPECT_EQ(address(second.empty(f32, {kCount})), was);
  second.state()->memory_pool->set_idle_limit(0);
}

TEST_F(MemoryPool, KeepsIdleMemoryWithinItsLimit) {
  pool().set_idle_limit(2 * kBytes);
  { const Array a = array(), b = array(), c = array(); }
  EXPECT_EQ(pool().idle_bytes(), 2 * kBytes);
  EXPECT_EQ(host::calls("cuMemFree"), 1u);
  { const Array large = device.empty(f32, {3 * kCount}); }
  EXPECT_EQ(pool().idle_bytes(), 2 * kBytes);
  device.trim();
  EXPECT_EQ(pool().idle_bytes(), 0);
  EXPECT_EQ(host::calls("cuMemFree"), 4u);
}

TEST_F(MemoryPool, TakesItsLimitFromTheOptions) {
  const Graph graph = parse("graph twice(x: f32[8]) {\n  y = mul x, 2.0\n  return y\n}\n");
  { const Array some = array(); }
  EXPECT_EQ(pool().idle_bytes(), kBytes);
  const Options options{.tune = Tune::off, .idle_bytes = 100, .optimize_host = false};
  const Executable executable = compile(graph, device, options);
  EXPECT_EQ(pool().idle_bytes(), 0);

  const test::ScratchFolder folder;
  executable.save(folder.path() + "/twice");
  pool().set_idle_limit(std::int64_t{1} << 30);
  { const Array some = array(); }
  EXPECT_EQ(pool().idle_bytes(), kBytes);
  (void)load(folder.path() + "/twice", device, {.options = {.idle_bytes = 100}});
  EXPECT_EQ(pool().idle_bytes(), 0);
}

TEST_F(MemoryPool, FreesIdleMemoryBeforeReportingOutOfMemory) {
  const std::uint64_t live = host::counters().live_bytes;
  host::configure({.memory_bytes = live + 10000});
  {
    const PinnedArray ones = pinned(1);
    const Array small = array(), another = array();
    device.upload(small, ones, stream);  // the copy is still pending
  }
  const Array large = device.empty(f32, {2000});
  EXPECT_EQ(pool().idle_bytes(), 0);
  EXPECT_THAT(
      test::error_of<DriverError>([&] { (void)array(); }),
      AllOf(StartsWith("cuMemAlloc failed on the host device for f32[1000] (4000 bytes): "
                       "CUDA_ERROR_OUT_OF_MEMORY"),
            HasSubstr("Arrays and Contexts hold 8000 bytes of this device, and none is idle")));
}

}  // namespace
}  // namespace sinter::memory_pool_test
