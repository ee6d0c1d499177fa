// The grid barrier of a cooperative launch, whose blocks run on separate OS threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace sinter::host {

class GridBarrier {
 public:
  enum class Outcome {
    complete,
    counter_mismatch,  // all blocks have arrived, but the counter disagrees: a GPU would hang
    block_returned,    // a block has returned while others wait for it
    block_failed,
  };

  explicit GridBarrier(std::uint64_t blocks) : blocks_(blocks) {}

  /// Waits until all blocks have arrived, or until one of them never will. Before this call each
  /// block adds its arrival to the counter `arrivals`, as grid_barrier() does.
  Outcome arrive_and_wait(const unsigned* arrivals);
  /// Reports that the block has ended. Blocks that wait for it stop waiting.
  void block_ended(std::uint64_t block, bool has_failed);
  /// The block that returned without arriving.
  std::uint64_t returned_block() const;

 private:
  const std::uint64_t blocks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t waiting_ = 0;
  std::uint64_t round_ = 0;
  bool has_counter_mismatch_ = false;
  bool has_failed_ = false;
  std::optional<std::uint64_t> returned_;  // the first that did
};

}  // namespace sinter::host
