// The index maps of operands under structural ops and broadcasting, and queries based on them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph/node.h"
#include "ir/shape/index_map.h"
#include "ir/shape/strides.h"
#include "ir/support/adt.h"

namespace sinter {

/// The index at which `node.operands[operand]` is read for the element of `node` at `index`. For
/// take and take_along_axis, the index of operand 0 depends on the value of operand 1. For concat,
/// the index is valid only inside the operand's `concat_segment`. Throws InternalError for ops
/// without an index map, such as reductions.
std::vector<Index> operand_index(IndexSpace& space, const Node& node, std::size_t operand,
                                 std::span<const Index> index);

/// An operand of a concat covers [begin, end) of the axis.
struct Segment {
  std::int64_t axis;
  Extent begin;
  Extent end;
};
Segment concat_segment(const Node& node, std::size_t operand);

/// The strides of an input: as recorded, else row-major.
std::vector<Extent> strides_of(const Node& input);
/// The element offset of `index` in an array with `strides`.
Index address(IndexSpace& space, std::span<const Index> index, std::span<const Extent> strides);

/// True for ops that only select or reorder elements of one operand: reshape, permute, slice, flip,
/// …
bool is_view(const Node& node);

/// The input of which `node` is a view, and the element offset in it as a function of the axes of
/// `node`. Returns nullopt if another op than reshape, permute, slice and broadcast_to is between
/// them.
struct ViewOfInput {
  const Node* input;
  Index offset;  ///< in terms of the axes 0 … rank - 1 of the node
};
std::optional<ViewOfInput> view_of_input(IndexSpace& space, const Node& node);

/// The order in which a reduction of `operand` nests its `axes`, outermost first. It follows the
/// strides if the operand is a view of an input. Empty: row-major, i.e. ascending.
llvm::SmallVector<std::int64_t, 6> tree_order(const Node& operand,
                                              std::span<const std::int64_t> axes);

}  // namespace sinter
