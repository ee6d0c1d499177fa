// The nodes of a group that compute one value: readers recompute them to rematerialize it.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/fusion/group.h"

namespace sinter {

struct RematerializationCone {
  std::vector<const Node*> nodes;
  Nodes loads;  ///< values that `nodes` read from outside the cone, by ascending id
};

class RematerializationCones {
 public:
  RematerializationCones(const GraphData& graph, const Groups& groups)
      : graph_(graph), groups_(groups) {}

  /// The nodes of `group` that compute `node` from loads and from results of reductions, scans and
  /// scatters. Empty if `node` itself is one of these.
  RematerializationCone of(int group, const Node* node);
  /// `node` alone, if it casts a narrower value of its group; else empty.
  RematerializationCone of_widening(int group, const Node* node) const;
  /// Frees memory that only `of` needs.
  void forget() { visited_ = {}; }

 private:
  const GraphData& graph_;
  const Groups& groups_;
  std::vector<std::uint32_t> visited_;  ///< the latest cone that visited a node, by id
  std::uint32_t search_ = 0;
};

}  // namespace sinter
