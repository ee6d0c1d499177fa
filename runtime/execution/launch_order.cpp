#include "runtime/execution/launch_order.h"

#include <algorithm>

#include <llvm/ADT/SmallVector.h>

#include "ir/shape/extent.h"
#include "ir/support/sort_unique.h"

namespace sinter {

namespace {

struct ArenaRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool overlaps(const ArenaRange& other) const { return begin < other.end && other.begin < end; }
  bool holds(const ArenaRange& other) const { return begin <= other.begin && other.end <= end; }
};

/// A temporary in the arena, and the kernels that use it.
struct ArenaOccupant {
  int buffer = 0;
  ArenaRange range;
  llvm::SmallVector<int, 4> users;
};

}  // namespace

LaunchOrder::LaunchOrder(const Variant& variant) : program_(variant.program) {
  const auto is_temporary = [&](int buffer) {
    return program_.buffers[static_cast<std::size_t>(buffer)].kind == Buffer::Kind::temporary;
  };
  for (std::size_t kernel = 0; kernel < variant.kernels.size(); ++kernel) {
    Footprint& footprint = footprints_.emplace_back();
    for (const int buffer : buffers_of(variant.kernels[kernel].source))
      if (is_temporary(buffer)) footprint.used.push_back(buffer);
    for (const Store& store : program_.kernels[kernel].stores)
      if (is_temporary(store.buffer)) footprint.written.push_back(store.buffer);
  }
}

std::vector<LaunchEdge> LaunchOrder::edges(const ScratchLayout& layout,
                                           std::span<const std::int64_t> symbols) const {
  const auto range_of = [&](int buffer) {
    const auto index = static_cast<std::size_t>(buffer);
    const std::int64_t begin = layout.buffer_offsets[index];
    return ArenaRange{begin, begin + bytes_of(program_.buffers[index], symbols)};
  };
  std::vector<LaunchEdge> edges;
  std::vector<std::size_t> first_edge;  // of each kernel
  const auto waits_for = [&](int kernel, int before) {
    const auto index = static_cast<std::size_t>(kernel);
    const auto own =
        std::span(edges).subspan(first_edge[index], first_edge[index + 1] - first_edge[index]);
    return std::ranges::find(own, before, &LaunchEdge::before) != own.end();
  };
  std::vector<ArenaOccupant> occupants;  // a later writer of their memory waits for their users
  for (std::size_t after = 0; after < footprints_.size(); ++after) {
    const auto kernel = static_cast<int>(after);
    first_edge.push_back(edges.size());
    std::vector<int> predecessors = program_.kernels[after].depends_on;
    for (const int written : footprints_[after].written) {
      const ArenaRange range = range_of(written);
      std::erase_if(occupants, [&](const ArenaOccupant& occupant) {
        if (occupant.buffer == written || !occupant.range.overlaps(range)) return false;
        predecessors.insert(predecessors.end(), occupant.users.begin(), occupant.users.end());
        return range.holds(occupant.range);  // the next writer there waits for this kernel
      });
    }
    sort_unique(predecessors);
    // Skips a kernel if another predecessor already waits for it.
    for (std::size_t i = 0; i < predecessors.size(); ++i) {
      const auto is_between = [&](int other) { return waits_for(other, predecessors[i]); };
      if (std::none_of(predecessors.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                       predecessors.end(), is_between))
        edges.push_back({.before = predecessors[i], .after = kernel});
    }
    for (const int buffer : footprints_[after].used) {
      auto occupant = std::ranges::find(occupants, buffer, &ArenaOccupant::buffer);
      if (occupant == occupants.end())
        occupant =
            occupants.insert(occupant, {.buffer = buffer, .range = range_of(buffer), .users = {}});
      if (occupant->users.empty() || occupant->users.back() != kernel)
        occupant->users.push_back(kernel);
    }
  }
  return edges;
}

}  // namespace sinter
