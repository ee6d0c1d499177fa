// Where the blocks of a cooperative launch meet, each run by an OS thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace sinter::host {

class GridBarrier {
 public:
  enum class Outcome {
    met,
    miscounted,  // all are there, but the counter says otherwise: a GPU would wait for ever
    missed,      // a block has returned that others wait for
    given_up,    // a block has failed
  };

  explicit GridBarrier(std::uint64_t blocks) : blocks_(blocks) {}

  /// Waits until all blocks are here, or until one of them cannot come any more. All of them have
  /// arrived at the counter `arrivals` before, as grid_barrier() does.
  Outcome meet(const unsigned* arrivals);
  /// The block is at its end: those that wait for it give up.
  void leave(std::uint64_t block, bool has_failed);
  /// The block that was missed.
  std::uint64_t missing() const;

 private:
  const std::uint64_t blocks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t waiting_ = 0;
  std::uint64_t round_ = 0;
  bool is_miscounted_ = false;
  bool has_failed_ = false;
  std::optional<std::uint64_t> returned_;  // the first that did
};

}  // namespace sinter::host
