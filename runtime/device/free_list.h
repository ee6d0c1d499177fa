// FreeList: idle device memory by size and age, with the points after which it can be reused.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/driver/driver.h"

namespace sinter {

struct EventState;

/// A point in the work of a stream.
struct UsePoint {
  std::uint64_t stream = 0;  ///< StreamState::id
  std::shared_ptr<EventState> event;
};

/// A block of the pool's memory.
struct MemoryBlock {
  CUdeviceptr pointer = 0;
  std::int64_t bytes = 0;       ///< the allocated size
  std::vector<UsePoint> after;  ///< work before these points may use it; empty: it is unused
  std::uint64_t thread = 0;     ///< the thread that released it
};

/// The size of the block for `bytes`: rounded up to an eighth of a power of two. The step is at
/// least 512 bytes and at most 2 MiB. Arrays of about the same size can then reuse each other's
/// memory.
std::int64_t rounded_block_size(std::int64_t bytes);

/// Blocks by size and by age. Blocks move in and out as map nodes, so that neither allocates.
class FreeList {
  struct Idle {
    MemoryBlock block;
    std::uint64_t age = 0;  ///< smaller: released earlier
  };
  /// By size, then by order among blocks of that size.
  using BySize = std::map<std::pair<std::int64_t, std::uint64_t>, Idle>;
  using ByAge = std::map<std::uint64_t, BySize::iterator>;

 public:
  /// A block that is not in a list. Empty if default-constructed.
  class Node {
   public:
    explicit operator bool() const { return static_cast<bool>(block_); }
    MemoryBlock& mapped() const { return block_.mapped().block; }

   private:
    friend class FreeList;
    BySize::node_type block_;
    ByAge::node_type age_;
  };

  /// Allocates a node for a new block.
  static Node make_node();

  /// Adds a block that was just released.
  void add(Node block) noexcept;
  /// Adds a block that was taken out only for a check. It keeps its age, but goes behind others of
  /// its size.
  void reinsert(Node block) noexcept;
  /// Takes the first of the smallest blocks for which `suits` is true, with at least `bytes` and at
  /// most `most_bytes`. Empty if there is none. Checks at most 64 blocks.
  template <class Suits>
  Node take(std::int64_t bytes, std::int64_t most_bytes, Suits suits) {
    int checks_left = 64;
    for (auto at = blocks_.lower_bound({bytes, 0});
         at != blocks_.end() && at->first.first <= most_bytes && checks_left > 0;
         ++at, --checks_left)
      if (suits(std::as_const(at->second.block))) return extract(at);
    return {};
  }
  /// Takes the block that was released first; empty if there is none.
  Node take_oldest() noexcept;

  std::int64_t bytes() const { return bytes_; }

 private:
  void insert(Node block) noexcept;
  Node extract(BySize::iterator at) noexcept;

  BySize blocks_;
  ByAge ages_;
  std::int64_t bytes_ = 0;
  std::uint64_t next_order_ = 0;
};

}  // namespace sinter
