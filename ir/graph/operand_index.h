// How structural ops and broadcasting read: the index map of each operand, and what follows of it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph/node.h"
#include "ir/shape/index_map.h"
#include "ir/shape/strides.h"
#include "ir/support/adt.h"

namespace sinter {

/// Where `node.operands[operand]` is read for the element of `node` at `index`. For take and
/// take_along_axis, operand 0 is read through the value of operand 1; for concat the answer holds
/// only where `concat_segment` says that the operand is the one. Not for reductions.
std::vector<Index> operand_index(IndexSpace& space, const Node& node, std::size_t operand,
                                 std::span<const Index> index);

/// The operand of a concat covers [begin, end) of its axis.
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

/// True for ops that only say where to read: reshape, permute, slice, flip, …
bool is_view(const Node& node);

/// The input that `node` is a view of, and the element offset in it per axis of `node`; nullopt if
/// arithmetic or data-dependent reads stand between.
struct ViewOfInput {
  const Node* input;
  Index offset;  ///< over the axes 0 … rank - 1 of the node
};
std::optional<ViewOfInput> view_of_input(IndexSpace& space, const Node& node);

/// The order in which a reduction of `operand` nests its `axes`, outermost first; empty for
/// row-major, i.e. ascending. By the operand's strides if it is a view of an input.
llvm::SmallVector<std::int64_t, 6> tree_order(const Node& operand,
                                              std::span<const std::int64_t> axes);

}  // namespace sinter
