// AccessHistories: sets of earlier accesses to a granule of memory, shared between granules with
// the same history.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/virtual_gpu/checks/past_access.h"

namespace sinter::virtual_gpu {

class HappensBefore;

/// A set is a chain: its newest access and the set of the older ones. Equal chains have one number,
/// so that all granules that the same threads read in the same order share their set.
class AccessHistories {
 public:
  struct Node {
    PastAccess access;
    std::uint32_t older = 0;  ///< a set; 0: empty
    std::uint32_t length = 0;
    std::uint32_t first_newer = 0;     ///< the first set made of this one and a newer access
    std::uint32_t newest_segment = 0;  ///< the largest of all accesses
    std::uint32_t compact_at = 0;      ///< the length from which on push() removes accesses
    std::uint32_t compacted = 0;       ///< the result of removing accesses; 0: not made
    std::uint8_t flags = 0;            ///< of all accesses
    std::uint8_t finest_shift = PastAccess::kCommon;  ///< the smallest step_shift of all accesses
  };

  /// The set with one more access. Long sets lose accesses that later ones of the same thread
  /// imply.
  std::uint32_t push(std::uint32_t set, const PastAccess& access, const HappensBefore& order);
  /// The set, or 0 if clear() has removed it.
  std::uint32_t live(std::uint32_t set) const { return set < first_ ? 0 : set; }
  const Node& operator[](std::uint32_t set) const { return nodes_[set - first_]; }
  /// Removes all sets.
  void clear();
  std::size_t size() const { return nodes_.size(); }

 private:
  static constexpr std::uint32_t kFirstCompaction = 64;
  std::uint32_t push_uncached(std::uint32_t set, const PastAccess& access,
                              const HappensBefore& order);
  std::uint32_t add(std::uint32_t older, const PastAccess& access, std::uint32_t compact_at);
  std::uint32_t append(std::uint32_t older, const PastAccess& access, std::uint32_t compact_at);
  bool is_in_table(const Node& node, std::uint32_t number) const;
  std::uint32_t compact(std::uint32_t set, const HappensBefore& order);
  void grow();

  /// The last push(): adjacent granules often have the same set and the same access.
  struct Push {
    std::uint32_t set = 0;
    PastAccess access;
    std::uint32_t result = 0;  ///< 0: none
  };

  Push last_;
  std::vector<Node> nodes_;
  std::uint32_t first_ = 1;           ///< the number of nodes_[0]
  /// Open addressing; the numbers of nodes, 0: free. Nodes that are a `first_newer` are not in it.
  /// Most are, and adjacent granules find them in adjacent memory.
  std::vector<std::uint32_t> table_;
  std::size_t in_table_ = 0;
};

}  // namespace sinter::virtual_gpu
