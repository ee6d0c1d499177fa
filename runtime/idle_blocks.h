// Device memory that nobody holds, by size, and from when on it may be used again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/driver.h"

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
  std::uint64_t age = 0;        ///< the smaller, the longer ago it was given back
};

/// How many bytes are asked of the driver for `bytes`: in eighths of a power of two, of at least
/// 512 bytes and at most 2 MiB, so that arrays of about one size can have each other's memory.
std::int64_t block_bytes(std::int64_t bytes);

/// Blocks by size. They go in and out as nodes, so that neither takes memory.
class IdleBlocks {
 public:
  using Map = std::multimap<std::int64_t, MemoryBlock>;
  using Node = Map::node_type;

  /// A node for one more block.
  static Node make_node();

  void add(Node block) noexcept;
  /// Puts one back that was taken out for a moment, in front of others of its size.
  void put_back(Node block) noexcept;
  /// The one that was given back longest ago among the smallest that `suits`, of those that hold
  /// `bytes` and are at most `most_bytes` large; empty if there is none. It looks at 64 at most.
  template <class Suits>
  Node take(std::int64_t bytes, std::int64_t most_bytes, Suits suits) {
    int looks = 64;
    for (auto at = blocks_.lower_bound(bytes);
         at != blocks_.end() && at->first <= most_bytes && looks > 0; ++at, --looks)
      if (suits(std::as_const(at->second))) return extract(at);
    return {};
  }
  /// The one that was given back longest ago; empty if there is none.
  Node take_oldest() noexcept;

  std::int64_t bytes() const { return bytes_; }

 private:
  Node extract(Map::iterator at) noexcept;

  Map blocks_;
  std::int64_t bytes_ = 0;
  std::uint64_t next_age_ = 0;
};

}  // namespace sinter
