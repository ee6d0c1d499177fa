// Placement of concats that need no kernel. The kernels that compute the operands store them
// directly as segments, which are sub-buffers of the concat's buffer.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/fusion/group.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The strides of the operand of `view`, a reshape or permute, if the result of `view` has
/// `strides`. nullopt if no strides describe the operand.
std::optional<std::vector<Extent>> strides_before(const Node& view,
                                                  std::span<const Extent> strides);

/// One segment of a concat.
struct PlacedSegment {
  const Node* node = nullptr;   ///< the operand, with its reshapes removed
  std::vector<Extent> strides;  ///< per axis of the node, in elements
  Extent offset = 0;            ///< of its first element
};

/// The segments of `concat`, stored with `strides`: one per operand. nullopt: the operand is not a
/// whole computed value in its own element order.
std::vector<std::optional<PlacedSegment>> segments_of(const Node& concat,
                                                      std::span<const Extent> strides);
/// True if `segment` is contiguous, or is stored in runs of at least a sector.
bool has_long_runs(const PlacedSegment& segment, const Facts& facts);

/// Places the concats that only copy results of other kernels. These kernels must be able to store
/// the results there directly, in runs of at least a sector.
void place_concats(const GraphData& graph, Groups& groups, const Facts& facts);

/// The concats that are not placed but could be, if they depend on a reduction or scan through
/// elementwise ops, casts and views only.
std::vector<const Node*> concats_to_place(const GraphData& graph, const Groups& groups,
                                          const Facts& facts);

}  // namespace sinter
