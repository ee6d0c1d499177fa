// Index maps of structural ops, and the reduction order that follows from strides.
#include "ir/graph/operand_index.h"

#include <algorithm>
#include <numeric>

#include "sinter/error.h"

namespace sinter {

namespace {

/// Numpy's rule: shapes are aligned at the right, and an axis of extent 1 is read at 0.
std::vector<Index> broadcast_index(std::span<const Index> index, std::span<const Extent> shape) {
  const std::size_t shift = index.size() - shape.size();
  std::vector<Index> result(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (!shape[axis].is(1)) result[axis] = index[shift + axis];
  return result;
}

std::vector<Index> permute_index(const Node& node, std::span<const Index> index) {
  const std::span<const std::int64_t> axes = attribute(node, "axes").integers;
  std::vector<Index> result(axes.size());
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    result[static_cast<std::size_t>(axes[axis])] = index[axis];
  return result;
}

std::vector<Index> slice_index(IndexSpace& space, const Node& node, std::span<const Index> index) {
  std::vector<Index> result(index.begin(), index.end());
  Index& on_axis = result[static_cast<std::size_t>(attribute(node, "axis").integer)];
  on_axis = space.add(space.scale(on_axis, attribute(node, "step").integer),
                      constant_index(attribute(node, "begin").extent));
  return result;
}

std::vector<Index> flip_index(IndexSpace& space, const Node& node, std::span<const Index> index) {
  std::vector<Index> result(index.begin(), index.end());
  for (const std::int64_t axis : attribute(node, "axes").integers) {
    Index& on_axis = result[static_cast<std::size_t>(axis)];
    on_axis = space.add(space.scale(on_axis, -1),
                        constant_index(node.shape[static_cast<std::size_t>(axis)] - Extent(1)));
  }
  return result;
}

std::vector<Index> as_strided_index(IndexSpace& space, const Node& node,
                                    std::span<const Index> index) {
  const Index offset = space.add(address(space, index, attribute(node, "strides").extents),
                                 constant_index(attribute(node, "offset").extent));
  return space.delinearize(offset, node.operand(0)->shape);
}

std::vector<Index> unfold_index(IndexSpace& space, const Node& node, std::span<const Index> index) {
  std::vector<Index> result(index.begin(), index.end() - 1);
  Index& on_axis = result[static_cast<std::size_t>(attribute(node, "axis").integer)];
  on_axis = space.add(space.scale(on_axis, attribute(node, "step").integer), index.back());
  return result;
}

std::vector<Index> concat_index(IndexSpace& space, const Node& node, std::size_t operand,
                                std::span<const Index> index) {
  const Segment segment = concat_segment(node, operand);
  std::vector<Index> result(index.begin(), index.end());
  Index& on_axis = result[static_cast<std::size_t>(segment.axis)];
  on_axis = space.add(on_axis, constant_index(segment.begin * Extent(-1)));
  return result;
}

std::vector<Index> take_index(IndexSpace& space, const Node& node, std::size_t operand,
                              std::span<const Index> index) {
  const auto axis = static_cast<std::size_t>(attribute(node, "axis").integer);
  const Node* x = node.operand(0);
  const Node* indices = node.operand(1);
  const std::size_t rank = indices->shape.size();
  std::vector<Index> at(index.begin() + static_cast<std::ptrdiff_t>(axis),
                        index.begin() + static_cast<std::ptrdiff_t>(axis + rank));
  if (operand == 1) return at;
  std::vector<Index> result(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(axis));
  result.push_back(space.indirect(indices, std::move(at), x->shape[axis]));
  result.insert(result.end(), index.begin() + static_cast<std::ptrdiff_t>(axis + rank),
                index.end());
  return result;
}

std::vector<Index> take_along_axis_index(IndexSpace& space, const Node& node, std::size_t operand,
                                         std::span<const Index> index) {
  std::vector<Index> result(index.begin(), index.end());
  if (operand == 1) return result;
  const auto axis = static_cast<std::size_t>(attribute(node, "axis").integer);
  result[axis] =
      space.indirect(node.operand(1), {index.begin(), index.end()}, node.operand(0)->shape[axis]);
  return result;
}

}  // namespace

std::vector<Index> operand_index(IndexSpace& space, const Node& node, std::size_t operand,
                                 std::span<const Index> index) {
  const Node& from = *node.operand(operand);
  if (is_elementwise(node.op) || node.op == Op::custom) return broadcast_index(index, from.shape);
  switch (node.op) {
    case Op::cast:
    case Op::bitcast: return {index.begin(), index.end()};
    case Op::broadcast_to: return broadcast_index(index, from.shape);
    case Op::reshape: return space.delinearize(space.linearize(index, node.shape), from.shape);
    case Op::permute: return permute_index(node, index);
    case Op::slice: return slice_index(space, node, index);
    case Op::flip: return flip_index(space, node, index);
    case Op::as_strided: return as_strided_index(space, node, index);
    case Op::unfold: return unfold_index(space, node, index);
    case Op::concat: return concat_index(space, node, operand, index);
    case Op::take: return take_index(space, node, operand, index);
    case Op::take_along_axis: return take_along_axis_index(space, node, operand, index);
    default: throw InternalError("operand_index: op has no index map");
  }
}

Segment concat_segment(const Node& node, std::size_t operand) {
  const std::int64_t axis = attribute(node, "axis").integer;
  Extent begin = 0;
  for (std::size_t i = 0; i < operand; ++i)
    begin = begin + node.operand(i)->shape[static_cast<std::size_t>(axis)];
  return {.axis = axis,
          .begin = begin,
          .end = begin + node.operand(operand)->shape[static_cast<std::size_t>(axis)]};
}

std::vector<Extent> strides_of(const Node& input) {
  const std::span<const Extent> recorded = attribute(input, "strides").extents;
  if (recorded.empty()) return row_major_strides(input.shape);
  return {recorded.begin(), recorded.end()};
}

Index address(IndexSpace& space, std::span<const Index> index, std::span<const Extent> strides) {
  Index result;
  for (std::size_t axis = 0; axis < strides.size(); ++axis)
    result = space.add(result, space.scale(index[axis], strides[axis]));
  return result;
}

bool is_view(const Node& node) {
  switch (node.op) {
    case Op::reshape:
    case Op::permute:
    case Op::broadcast_to:
    case Op::slice:
    case Op::flip:
    case Op::as_strided:
    case Op::unfold: return true;
    default: return false;
  }
}

std::optional<ViewOfInput> view_of_input(IndexSpace& space, const Node& node) {
  std::vector<Index> index;
  for (const Extent extent : node.shape) index.push_back(space.add_axis(extent));
  const Node* at = &node;
  // A limit, because every reduction traverses the chain. Views in practice are shorter.
  constexpr int kLongest = 32;
  for (int length = 0; at->op != Op::input; ++length) {
    if (length == kLongest) return std::nullopt;
    // Reversed elements, and elements in several windows, define no order.
    const bool has_order = at->op == Op::reshape || at->op == Op::permute || at->op == Op::slice ||
                           at->op == Op::broadcast_to;
    if (!has_order) return std::nullopt;
    index = operand_index(space, *at, 0, index);
    at = at->operand(0);
  }
  return ViewOfInput{.input = at, .offset = address(space, index, strides_of(*at))};
}

llvm::SmallVector<std::int64_t, 6> tree_order(const Node& operand,
                                              std::span<const std::int64_t> axes) {
  if (axes.size() < 2) return {};
  // Arithmetic results are row-major by definition; most reductions end here.
  if (is_elementwise(operand.op) || operand.op == Op::cast || operand.op == Op::bitcast) return {};
  IndexSpace space;
  const std::optional<ViewOfInput> view = view_of_input(space, operand);
  if (!view) return {};
  llvm::SmallVector<std::int64_t, 6> strides;
  for (const std::int64_t axis : axes) {
    const std::optional<Extent> stride = coefficient_of(view->offset, static_cast<int>(axis));
    // Symbolic strides, and axes that a reshape split, define no order.
    if (!stride || !stride->is_number()) return {};
    strides.push_back(stride->number());
  }
  llvm::SmallVector<std::int64_t, 6> order(axes.begin(), axes.end());
  llvm::SmallVector<std::size_t, 6> positions(axes.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  std::ranges::stable_sort(positions,
                           [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  for (std::size_t i = 0; i < positions.size(); ++i) order[i] = axes[positions[i]];
  if (std::ranges::is_sorted(order)) return {};
  return order;
}

}  // namespace sinter
