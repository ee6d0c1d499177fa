// Segments of a concat that the kernels which compute them store in place: the buffer of a segment
// is a sub-buffer of the buffer of the concat.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/fusion/group.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The strides of what `view`, a reshape or permute, reads where its result has `strides`; nullopt
/// if there are none.
std::optional<std::vector<Extent>> strides_before(const Node& view,
                                                  std::span<const Extent> strides);

/// What lies in a segment of a concat.
struct PlacedSegment {
  const Node* node = nullptr;   ///< computed; the operand, or what that is a view of
  std::vector<Extent> strides;  ///< per axis of the node, in elements
  Extent offset = 0;            ///< of its first element
};

/// One for each operand of `concat`, in memory with `strides`; nullopt if one of them is not a
/// whole result in its own order.
std::optional<std::vector<PlacedSegment>> segments_of(const Node& concat,
                                                      std::span<const Extent> strides);

/// One operand of `concat` that begins at `begin` along its axis; nullopt likewise.
std::optional<PlacedSegment> segment_of(const Node& concat, const Node* operand, Extent begin,
                                        std::span<const Extent> strides);
/// True if `part` is stored in runs of at least a sector, or all at once.
bool has_long_runs(const PlacedSegment& part, const Facts& facts);

/// True if `group` does nothing but copy results that other kernels store into a concat, and they
/// can store them there: in runs of at least a sector.
bool is_placeable_concat(const GraphData& graph, const Groups& groups, int group,
                         const Facts& facts);

/// The concats that are not placed, could be in groups of their own, and are made of what
/// reductions or scans give: by elementwise ops, at most.
std::vector<const Node*> concats_to_place(const GraphData& graph, const Groups& groups,
                                          const Facts& facts);

}  // namespace sinter
