// Groups of which is known without a body what their kernel does: elementwise ops over one shape,
// at most with reductions of its last axis and ops on what these give for each row.
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

/// How the nodes of a group read one another.
struct GroupShape {
  enum class Kind : std::uint8_t {
    none,   ///< any other way: only a body tells
    plain,  ///< each element is made of those at its own place, and of what is in memory
    mixed,  ///< the same, but some values are the same all along the last axis
    rows,   ///< at least one reduces the last axis; the others are plain, on the rows or on results
  };
  Kind kind = Kind::none;
  /// No view stands between them and the arrays that they read, so what those cost is known too.
  bool is_direct = false;
  const Node* shaped = nullptr;  ///< it has the shape of the elementwise ops and of rows
  std::span<const Extent> shape() const { return shaped->shape; }
};

/// What a group of `node` alone is.
GroupShape group_shape(const Node& node);
/// What the union of two groups is.
GroupShape merged_shape(const GroupShape& a, const GroupShape& b);

/// How many elements nodes have at the planned sizes, each counted once.
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
  std::vector<double> elements_;  ///< by id; -1: not known yet
};

/// What a kernel is made of, without repetition.
struct KernelContents {
  std::span<const Node* const> nodes;
  std::span<const Node* const> loads;
  std::span<const Node* const> stores;
};

/// Bytes of a row, per element, that a kernel of `parts` keeps at most: of all that varies within
/// it.
std::int64_t most_kept_bytes(const KernelContents& parts);
/// True if one kernel of regular rows reads each array once and computes each value once, whatever
/// it keeps of these many bytes per element. False where that is not known for certain: rows may be
/// too long to be kept, or so long that their parts must be dealt out.
bool reads_rows_once(const GroupShape& rows, std::int64_t most_kept, const Target& target,
                     const Facts& facts);

/// The cost of a kernel, equal to that of its body; none where only the body tells. Of rows it must
/// be known that they are read once.
std::optional<Cost> cost_of(const GroupShape& group_shape, const KernelContents& parts,
                            const Target& target, NodeSizes& sizes);

}  // namespace sinter
