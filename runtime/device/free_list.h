// Device memory that nobody holds, by size, and from when on it may be used again.
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

/// A piece of memory of the pool.
struct MemoryBlock {
  CUdeviceptr pointer = 0;
  std::int64_t bytes = 0;       ///< as the driver gave it
  std::vector<UsePoint> after;  ///< what may still use it; nothing: nobody does
  std::uint64_t thread = 0;     ///< that gave it back
};

/// How many bytes are asked of the driver for `bytes`: in eighths of a power of two, of at least
/// 512 bytes and at most 2 MiB, so that arrays of about one size can have each other's memory.
std::int64_t block_bytes(std::int64_t bytes);

/// Blocks by size and by age. They go in and out as nodes, so that neither takes memory.
class FreeList {
  struct Idle {
    MemoryBlock block;
    std::uint64_t age = 0;  ///< the smaller, the longer ago it was given back
  };
  /// By size, and whose turn it is among those of that size.
  using BySize = std::map<std::pair<std::int64_t, std::uint64_t>, Idle>;
  using ByAge = std::map<std::uint64_t, BySize::iterator>;

 public:
  /// A block that is not among them; default-made, none.
  class Node {
   public:
    explicit operator bool() const { return static_cast<bool>(block_); }
    MemoryBlock& mapped() const { return block_.mapped().block; }

   private:
    friend class FreeList;
    BySize::node_type block_;
    ByAge::node_type age_;
  };

  /// A node for one more block.
  static Node make_node();

  void add(Node block) noexcept;
  /// Puts one back that was taken out for a moment: as old as it was, and behind others of its
  /// size.
  void put_back(Node block) noexcept;
  /// The one whose turn it is among the smallest that `suits`, of those that hold `bytes` and are
  /// at most `most_bytes` large; empty if there is none. It looks at 64 at most.
  template <class Suits>
  Node take(std::int64_t bytes, std::int64_t most_bytes, Suits suits) {
    int looks = 64;
    for (auto at = blocks_.lower_bound({bytes, 0});
         at != blocks_.end() && at->first.first <= most_bytes && looks > 0; ++at, --looks)
      if (suits(std::as_const(at->second.block))) return extract(at);
    return {};
  }
  /// The one that was given back longest ago; empty if there is none.
  Node take_oldest() noexcept;

  std::int64_t bytes() const { return bytes_; }

 private:
  void insert(Node block) noexcept;
  Node extract(BySize::iterator at) noexcept;

  BySize blocks_;
  ByAge ages_;
  std::int64_t bytes_ = 0;
  std::uint64_t next_turn_ = 0;
};

}  // namespace sinter
