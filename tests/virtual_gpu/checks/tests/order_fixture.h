// OrderFixture: launches, blocks, and accesses for tests of the order between threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/virtual_gpu/checks/happens_before.h"
#include "tests/virtual_gpu/checks/shadow.h"

namespace sinter::virtual_gpu {

/// Launches with some blocks, and memory of 1 KiB. The functions that access it return true on a
/// conflict.
class OrderFixture : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kFlag = 512;  ///< an offset; data is below

  std::uint32_t begin(std::vector<std::uint32_t> before = {},
                      std::vector<std::uint32_t> waits_for = {}) {
    return launch_ = order_.begin_launch(
               [before](std::uint32_t earlier) {
                 return std::find(before.begin(), before.end(), earlier) != before.end();
               },
               std::move(waits_for), "kernel");
  }
  BlockClock& block(std::uint32_t number, int threads = 64) {
    auto& slot = blocks_[{launch_, number}];
    if (!slot) slot = order_.begin_block(launch_, number, threads);
    return *slot;
  }
  ThreadClock& thread(std::uint32_t block_number, int number) {
    return order_.thread(block(block_number), number);
  }
  bool conflicts(ThreadClock& thread, AccessKind kind, std::uint64_t offset, bool is_strong = false,
                 std::uint64_t bytes = 4) {
    return memory_
        .access({.kind = kind, .is_strong = is_strong, .offset = offset, .bytes = bytes}, thread,
                order_)
        .has_value();
  }
  bool write(ThreadClock& thread, std::uint64_t offset = 0) {
    return conflicts(thread, AccessKind::write, offset);
  }
  bool read(ThreadClock& thread, std::uint64_t offset = 0) {
    return conflicts(thread, AccessKind::read, offset);
  }
  bool write_flag(ThreadClock& thread, std::uint64_t flag = kFlag) {
    const bool result = conflicts(thread, AccessKind::write, flag, true);
    order_.strong_write(thread, flag, false);
    return result;
  }
  bool read_flag(ThreadClock& thread, std::uint64_t flag = kFlag) {
    const bool result = conflicts(thread, AccessKind::read, flag, true);
    order_.strong_read(thread, flag);
    return result;
  }
  bool add(ThreadClock& thread, std::uint64_t counter = kFlag) {
    const bool result = conflicts(thread, AccessKind::atomic, counter);
    order_.strong_write(thread, counter, true);
    return result;
  }

  HappensBefore order_;
  Shadow memory_{1024};
  std::uint32_t launch_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<BlockClock>> blocks_;
};

}  // namespace sinter::virtual_gpu
