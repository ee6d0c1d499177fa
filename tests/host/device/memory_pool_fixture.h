// Fixture of the memory pool tests: the host device with a pool that keeps idle memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"

namespace sinter::test {

class MemoryPoolTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kCount = 1000;
  static constexpr std::int64_t kBytes = kCount * 4;

  void SetUp() override {
    pool().set_idle_limit(std::int64_t{1} << 30);
    host::reset_counters();
  }
  void TearDown() override {
    host::clear_faults();
    pool().set_idle_limit(0);
    host::configure({});
  }

  MemoryPool& pool() const { return *device.state()->memory_pool; }
  Array array() const { return device.empty(f32, {kCount}); }
  PinnedArray pinned(float value) const {
    const PinnedArray result = device.pinned(f32, {kCount});
    std::ranges::fill(result.elements_as<float>(), value);
    return result;
  }
  static CUdeviceptr address(const Array& array) { return array.data().pointer; }
  static std::vector<float> all(float value) { return std::vector<float>(kCount, value); }
  std::vector<float> download(const Array& array, const Stream& from) const {
    return device.download<float>(array, from);
  }

  Device device = host_device();
  Stream stream = device.stream();
  Stream other = device.stream();
};

}  // namespace sinter::test
