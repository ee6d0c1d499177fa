// Addresses, lifetimes and descriptions of allocations.
#include "tests/virtual_gpu/memory/global_memory.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace sinter::virtual_gpu::global_memory_test {
namespace {

std::string hexadecimal(std::uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

TEST(GlobalMemory, AllocationsAreAlignedAndApart) {
  GlobalMemory memory;
  const Allocation& first = memory.allocate(1000, 0, MemoryKind::device);
  const Allocation& second = memory.allocate(1, 1, MemoryKind::device);
  EXPECT_EQ(first.address % 256, 0u);
  EXPECT_EQ(second.address % 256, 0u);
  EXPECT_GE(second.address, first.address + 1000 + GlobalMemory::kGuardBytes);
  EXPECT_EQ(second.device, 1);
  EXPECT_EQ(first.shadow.first_uninitialized(0, 1000), 0u);
  std::memset(first.data, 7, 1000);
}

TEST(GlobalMemory, FindsTheAllocationOfEachByte) {
  GlobalMemory memory;
  std::vector<Allocation*> all;
  for (int i = 1; i < 50; ++i) all.push_back(&memory.allocate(i, 0, MemoryKind::device));
  for (Allocation* one : all) {
    EXPECT_EQ(memory.find(one->address), one);
    EXPECT_EQ(memory.find(one->address + one->size - 1), one);
    EXPECT_EQ(memory.find(one->address + one->size), nullptr);
    EXPECT_EQ(memory.find(one->address - 1), nullptr);
    EXPECT_EQ(memory.find_begin(one->address), one);
    EXPECT_EQ(memory.find_begin(one->address + 1), nullptr);
  }
  EXPECT_EQ(memory.find(0), nullptr);
  EXPECT_EQ(memory.find(UINT64_MAX), nullptr);
}

TEST(GlobalMemory, FreedMemoryStaysKnown) {
  GlobalMemory memory;
  Allocation& freed = memory.allocate(4096, 0, MemoryKind::device);
  const std::uint64_t address = freed.address;
  memory.free(freed);
  ASSERT_EQ(memory.find(address + 5), &freed);
  EXPECT_TRUE(freed.is_freed);
  EXPECT_EQ(freed.data, nullptr);
  EXPECT_EQ(memory.find_begin(address), nullptr);
  EXPECT_NE(memory.allocate(4096, 0, MemoryKind::device).address, address);
  EXPECT_THROW(memory.free(freed), std::invalid_argument);
}

TEST(GlobalMemory, CountsLiveBytesOfEachDevice) {
  GlobalMemory memory;
  Allocation& first = memory.allocate(100, 0, MemoryKind::device);
  memory.allocate(10, 0, MemoryKind::module, "table");
  memory.allocate(1000, 1, MemoryKind::device);
  memory.allocate(5000, 1, MemoryKind::pinned);
  EXPECT_EQ(memory.used_bytes(0), 110u);
  EXPECT_EQ(memory.used_bytes(1), 1000u);
  EXPECT_EQ(memory.used_bytes(2), 0u);
  memory.free(first);
  EXPECT_EQ(memory.used_bytes(0), 10u);
}

TEST(GlobalMemory, UsesAddressesAgainOnlyWhenTheRangeIsUsedUp) {
  constexpr std::uint64_t kRange = 64 << 20;
  constexpr std::uint64_t kBytes = kRange / 4;
  GlobalMemory memory(kRange);
  Allocation& kept = memory.allocate(100, 0, MemoryKind::device);
  std::vector<std::uint64_t> addresses;
  for (int i = 0; i < 6; ++i) {
    Allocation& large = memory.allocate(kBytes, 0, MemoryKind::device);
    addresses.push_back(large.address);
    EXPECT_GE(large.address, kept.address + 100 + GlobalMemory::kGuardBytes);
    memory.free(large);
  }
  EXPECT_LT(addresses[0], addresses[1]);
  EXPECT_LT(addresses[1], addresses[2]);
  EXPECT_EQ(addresses[3], addresses[0]);
  Allocation& live = memory.allocate(kBytes, 0, MemoryKind::device);
  EXPECT_EQ(memory.find(live.address + 1), &live);
  EXPECT_EQ(memory.find(kept.address), &kept);
  memory.allocate(kBytes, 0, MemoryKind::device);
  memory.allocate(kBytes, 0, MemoryKind::device);
  EXPECT_THROW(memory.allocate(kBytes, 0, MemoryKind::device), std::bad_alloc);
}

TEST(GlobalMemory, PinnedMemoryIsHostMemory) {
  GlobalMemory memory;
  Allocation& pinned = memory.allocate(10000, 0, MemoryKind::pinned);
  char* const host = reinterpret_cast<char*>(pinned.address);
  std::memset(host, 5, 10000);
  EXPECT_EQ(std::to_integer<int>(pinned.data[9999]), 5);
  memory.free(pinned);
  EXPECT_DEATH(static_cast<volatile char*>(host)[0] = 1, "");
}

TEST(GlobalMemory, HostAccessToDeviceMemoryEndsTheProcess) {
  GlobalMemory memory;
  const Allocation& device = memory.allocate(100, 0, MemoryKind::device);
  volatile char* const stray = reinterpret_cast<volatile char*>(device.address);
  EXPECT_DEATH(stray[0] = 1, "");
}

TEST(GlobalMemory, MappedHostMemoryIsInitialised) {
  GlobalMemory memory;
  std::vector<float> host(100);
  Allocation& mapped = memory.map_host(host.data(), 400);
  EXPECT_EQ(memory.find(reinterpret_cast<std::uint64_t>(&host[99])), &mapped);
  EXPECT_EQ(mapped.shadow.first_uninitialized(0, 400), std::nullopt);
  EXPECT_THROW(memory.map_host(host.data() + 50, 4), std::invalid_argument);
  EXPECT_THROW(memory.map_host(host.data(), 400), std::invalid_argument);
  memory.free(mapped);
  host[99] = 1;  // the caller owns it
  Allocation& again = memory.map_host(host.data() + 50, 4);
  EXPECT_EQ(memory.find(reinterpret_cast<std::uint64_t>(&host[50])), &again);
  EXPECT_EQ(memory.find(reinterpret_cast<std::uint64_t>(&host[49])), nullptr);
}

TEST(GlobalMemory, DescribesAddressesByTheNearestAllocation) {
  GlobalMemory memory;
  Allocation& first = memory.allocate(4096, 0, MemoryKind::device);
  const Allocation& table = memory.allocate(16, 0, MemoryKind::module, "table");
  const std::string place = "the allocation of 4096 bytes at " + hexadecimal(first.address);
  const std::string table_place = "the variable table of 16 bytes at " + hexadecimal(table.address);
  const std::uint64_t end = first.address + 4096;
  EXPECT_EQ(memory.describe(first.address + 1), "1 byte into " + place);
  EXPECT_EQ(memory.describe(end), "directly behind the end of " + place);
  EXPECT_EQ(memory.describe(end + 12), "12 bytes behind the end of " + place);
  EXPECT_EQ(memory.describe(first.address - 8), "8 bytes before " + place);
  EXPECT_EQ(memory.describe(table.address - 8), "8 bytes before " + table_place);
  EXPECT_EQ(memory.describe(table.address + 3), "3 bytes into " + table_place);
  EXPECT_EQ(memory.describe(0), "near no allocation");
  EXPECT_EQ(memory.describe(table.address + (1 << 20)), "near no allocation");
  memory.free(first);
  EXPECT_EQ(memory.describe(first.address + 12), "in freed memory: 12 bytes into " + place);
  EXPECT_EQ(memory.describe(end + 12), "12 bytes behind the end of freed memory: " + place);
}

}  // namespace
}  // namespace sinter::virtual_gpu::global_memory_test
