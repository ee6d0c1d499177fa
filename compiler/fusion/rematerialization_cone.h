// What a value is made of within its group: what its readers would compute to make it themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/fusion/group.h"

namespace sinter {

struct RematerializationCone {
  std::vector<const Node*> nodes;
  Nodes loads;  ///< what these read of others, by ascending id
};

class RematerializationCones {
 public:
  RematerializationCones(const GraphData& graph, const Groups& groups)
      : graph_(graph), groups_(groups) {}

  /// The part of `node`'s group that computes it from what it loads and from results of reductions;
  /// empty if it is one of these itself.
  RematerializationCone of(int group, const Node* node);
  /// `node` alone where it is narrower in memory before it is cast to what it is.
  RematerializationCone of_widening(int group, const Node* node) const;
  /// Gives memory back that only `of` needs.
  void forget() { met_ = {}; }

 private:
  const GraphData& graph_;
  const Groups& groups_;
  std::vector<std::uint32_t> met_;  ///< the latest cone that met a node, by id
  std::uint32_t count_ = 0;
};

}  // namespace sinter
