// The replaced operator new of this program (failing_new.h), and its tests.
#include "tests/memory/failing_new.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

namespace sinter::test {
namespace {

std::atomic<std::int64_t> requested = 0;
std::atomic<std::int64_t> failing = 0;  // the number of the allocation; 0: none
std::atomic<Failing> failing_how = Failing::once;
std::atomic<bool> has_failed = false;
std::atomic<std::int64_t> live_blocks = 0;
std::atomic<std::int64_t> live_bytes = 0;

bool must_fail() {
  const std::int64_t wanted = failing.load(std::memory_order_relaxed);
  if (wanted == 0) return false;
  const std::int64_t number = requested.fetch_add(1, std::memory_order_relaxed) + 1;
  const bool fails = number == wanted || (number > wanted && failing_how == Failing::from_then_on);
  if (fails) has_failed = true;
  return fails;
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (must_fail()) return nullptr;
  const std::size_t whole =
      (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const memory =
      alignment <= alignof(std::max_align_t) ? std::malloc(whole) : aligned_alloc(alignment, whole);
  if (!memory) return nullptr;
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  live_bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)),
                       std::memory_order_relaxed);
  return memory;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment = 1) {
  if (void* const memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

void release(void* memory) noexcept {
  if (!memory) return;
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)),
                       std::memory_order_relaxed);
  std::free(memory);
}

std::size_t number(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

void fail_allocation(std::int64_t nth, Failing how) {
  requested = 0;
  has_failed = false;
  failing_how = how;
  failing = nth;
}

AllocationCounts stop_failing() {
  failing = 0;
  return {.allocations = requested, .has_failed = has_failed};
}

LiveMemory live_memory() { return {.blocks = live_blocks, .bytes = live_bytes}; }

namespace {

TEST(FailingNew, FailsOnlyTheNthAllocation) {
  fail_allocation(2);
  const auto first = std::make_unique<int>(1);
  bool has_thrown = false;
  try {
    std::make_unique<int>(2);
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  const std::string third(100, 'x');
  const AllocationCounts counts = stop_failing();
  EXPECT_TRUE(has_thrown);
  EXPECT_TRUE(counts.has_failed);
  EXPECT_EQ(counts.allocations, 3);
}

TEST(FailingNew, FailsAllLaterAllocations) {
  int failures = 0;
  fail_allocation(2, Failing::from_then_on);
  for (int i = 0; i < 3; ++i) {
    void* const memory = ::operator new(64, std::align_val_t(64), std::nothrow);
    failures += memory == nullptr;
    ::operator delete(memory, std::align_val_t(64));
  }
  EXPECT_EQ(stop_failing().allocations, 3);
  EXPECT_EQ(failures, 2);
}

TEST(FailingNew, CountsLiveMemory) {
  const LiveMemory before = live_memory();
  {
    const std::string text(1000, 'x');
    EXPECT_EQ(live_memory().blocks, before.blocks + 1);
    EXPECT_GE(live_memory().bytes, before.bytes + 1000);
  }
  EXPECT_EQ(live_memory(), before);
}

}  // namespace
}  // namespace sinter::test

// All overloads are replaced. Otherwise a sanitizer's versions of the others would be mixed in.
using sinter::test::allocate;
using sinter::test::allocate_or_throw;
using sinter::test::number;
using sinter::test::release;

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, number(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, number(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, number(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return allocate(bytes, number(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release(memory);
}
