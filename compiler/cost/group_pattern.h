// Groups whose cost is known without building a body. They consist of elementwise ops over one
// shape, reductions of its last axis, and elementwise ops on the reduced results.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"
#include "ir/graph/node.h"

namespace sinter {

/// The pattern in which the nodes of a group read one another.
struct GroupPattern {
  enum class Kind : std::uint8_t {
    none,   ///< any other way: the cost needs a body
    plain,  ///< each element depends on elements at its own position, and on memory
    mixed,  ///< like `plain`, but some values are constant along the last axis
    rows,   ///< some nodes reduce the last axis; the others are `plain` over full rows or over
            ///< results
  };
  Kind kind = Kind::none;
  /// True if the nodes read their arrays without views in between. The cost of the loads is then
  /// known without a body as well.
  bool is_direct = false;
  const Node* shaped = nullptr;  ///< a node with the full shape: that of the elementwise ops and of
                                 ///< the reduced rows
  std::span<const Extent> shape() const { return shaped->shape; }
};

/// The pattern of a group of `node` alone.
GroupPattern pattern_of(const Node& node);
/// The pattern of the union of two groups.
GroupPattern merged_pattern(const GroupPattern& a, const GroupPattern& b);

/// The number of elements of nodes at the planned sizes. Computes each number once.
class NodeSizes {
 public:
  NodeSizes(const GraphData& graph, const Facts& facts)
      : facts_(facts), elements_(graph.nodes.size(), -1) {}

  double elements(const Node& node) {
    double& known = elements_[node.id];
    if (known < 0) known = elements(node.shape);
    return known;
  }
  double elements(std::span<const Extent> shape) const {
    return static_cast<double>(evaluate(product(shape), facts_.symbols));
  }
  double bytes(const Node& node) { return elements(node) * size_of(node.dtype); }

  std::span<const std::int64_t> symbols() const { return facts_.symbols; }

 private:
  const Facts& facts_;
  std::vector<double> elements_;  ///< by id; -1: not computed yet
};

/// The nodes, loads and stores of a kernel, without repetition.
struct KernelContents {
  std::span<const Node* const> nodes;
  std::span<const Node* const> loads;
  std::span<const Node* const> stores;
  double further_bytes = 0;  ///< written for stores that have several places in memory
};

/// An upper bound on the bytes that a kernel of `contents` keeps per row element: all values that
/// vary within a row.
std::int64_t max_kept_bytes(const KernelContents& contents);
/// True if one kernel of `rows` reads each array once and computes each value once, even if it
/// keeps `max_kept` bytes per row element. False if uncertain: rows may be too long to stay
/// resident, or so long that several blocks must share one.
bool reads_rows_once(const GroupPattern& rows, std::int64_t max_kept, const Target& target,
                     const Facts& facts);

/// The cost of a kernel, equal to the cost of its body; nullopt if the cost needs a body. Needs:
/// reads_rows_once, if the group has the kind `rows`.
std::optional<Cost> cost_of(const GroupPattern& pattern, const KernelContents& contents,
                            const Target& target, NodeSizes& sizes);

}  // namespace sinter
