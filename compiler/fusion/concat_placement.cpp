#include "compiler/fusion/concat_placement.h"

#include <algorithm>
#include <ranges>

#include "compiler/body/access.h"
#include "compiler/target/gpu_constants.h"
#include "ir/graph/opaque_node.h"
#include "ir/graph/operand_index.h"
#include "ir/shape/strides.h"

namespace sinter {

namespace {

/// An axis whose extent is not known to be 1.
struct LongAxis {
  Extent extent;
  Extent stride;
  friend bool operator==(const LongAxis&, const LongAxis&) = default;
};

std::vector<LongAxis> long_axes(std::span<const Extent> shape, std::span<const Extent> strides) {
  std::vector<LongAxis> result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (!shape[axis].is(1)) result.push_back({.extent = shape[axis], .stride = strides[axis]});
  return result;
}

bool is_row_major(std::span<const Extent> shape, std::span<const Extent> strides) {
  return long_axes(shape, strides) == long_axes(shape, row_major_strides(shape));
}

}  // namespace

std::optional<std::vector<Extent>> strides_before(const Node& view,
                                                  std::span<const Extent> strides) {
  const std::span<const Extent> shape = view.operand(0)->shape;
  std::vector<Extent> result = row_major_strides(shape);
  if (view.op == Op::permute) {
    const std::span<const std::int64_t> axes = attribute(view, "axes").integers;
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      result[static_cast<std::size_t>(axes[axis])] = strides[axis];
    return result;
  }
  if (is_row_major(view.shape, strides)) return result;
  // Axes of extent 1 may come and go, and one axis may cover several axes of the operand.
  std::size_t next = 0;
  for (const LongAxis& axis : long_axes(view.shape, strides)) {
    const std::size_t first = next;
    Extent covered = 1;
    while (covered != axis.extent && next < shape.size()) covered = covered * shape[next++];
    if (covered != axis.extent) return std::nullopt;
    Extent stride = axis.stride;
    for (std::size_t inner = next; inner-- > first;) {
      result[inner] = stride;
      stride = stride * shape[inner];
    }
  }
  while (next < shape.size())
    if (!shape[next++].is(1)) return std::nullopt;
  return result;
}

std::vector<std::optional<PlacedSegment>> segments_of(const Node& concat,
                                                      std::span<const Extent> strides) {
  std::vector<std::optional<PlacedSegment>> result;
  Extent begin = 0;
  const auto axis = static_cast<std::size_t>(attribute(concat, "axis").integer);
  for (const Node* node : concat.operands) {
    const Extent offset = begin * strides[axis];
    begin = begin + node->shape[axis];
    std::optional<std::vector<Extent>> own{std::in_place, strides.begin(), strides.end()};
    for (; node->op == Op::reshape && own; node = node->operand(0))
      own = strides_before(*node, *own);
    std::optional<PlacedSegment>& segment = result.emplace_back();
    if (own && !is_view(*node) && !is_source(node->op))
      segment = {.node = node, .strides = std::move(*own), .offset = offset};
  }
  return result;
}

bool has_long_runs(const PlacedSegment& segment, const Facts& facts) {
  if (is_row_major(segment.node->shape, segment.strides)) return true;
  // Axes that are contiguous in memory form one run.
  Extent run = 1;
  for (const LongAxis& axis :
       long_axes(segment.node->shape, segment.strides) | std::views::reverse) {
    if (axis.stride != run) break;
    run = run * axis.extent;
  }
  return evaluate(run, facts.symbols) * size_of(segment.node->dtype) >= kSectorBytes;
}

namespace {

/// The strides of the outputs that store `node`; row-major strides if there is no output.
std::vector<std::vector<Extent>> layouts_of(const GraphData& graph, const Node* node) {
  std::vector<std::vector<Extent>> result;
  for (const OutputInfo& output : graph.outputs)
    if (output.node == node && !output.is_unwritten) result.push_back(strides_of(output));
  if (result.empty()) result.push_back(row_major_strides(node->shape));
  return result;
}

/// True if other kernels can store all segments of `node`, a concat, in its buffer.
bool is_placeable(const GraphData& graph, const Groups& groups, const Node* node,
                  const Facts& facts) {
  // An in-place update must wait for the readers of the old contents.
  if (std::ranges::find(graph.updates, node, &UpdateInfo::value) != graph.updates.end())
    return false;
  const auto can_be_stored = [&](const std::optional<PlacedSegment>& segment) {
    // A scatter stores its rows once, sub-buffers do not nest, and calls need row-major arrays.
    return segment && !is_opaque(*segment->node) && !groups.is_call_operand(segment->node) &&
           segment->node->op != Op::scatter && segment->node->op != Op::concat &&
           groups.home(segment->node) >= 0 && has_long_runs(*segment, facts);
  };
  return std::ranges::all_of(layouts_of(graph, node), [&](const std::vector<Extent>& strides) {
    return std::ranges::all_of(segments_of(*node, strides), can_be_stored);
  });
}

/// For each node, by id: true for reductions and scans, and for elementwise ops, casts and views
/// that depend on them.
std::vector<bool> follow_reductions(const GraphData& graph) {
  std::vector<bool> result(graph.nodes.size());
  for (const Node* node : graph.nodes) {
    if (is_reduction(node->op) || is_scan(node->op))
      result[node->id] = true;
    else if (is_elementwise(node->op) || node->op == Op::cast || is_view(*node))
      result[node->id] = std::ranges::any_of(
          node->operands, [&](const Node* operand) { return result[operand->id]; });
  }
  return result;
}

}  // namespace

void place_concats(const GraphData& graph, Groups& groups, const Facts& facts) {
  for (int group = 0; group < groups.size(); ++group) {
    const Group& own = groups[group];
    if (own.alive && own.nodes.size() == 1 && own.nodes.front()->op == Op::concat &&
        is_placeable(graph, groups, own.nodes.front(), facts))
      groups.mark_placed(group);
  }
}

std::vector<const Node*> concats_to_place(const GraphData& graph, const Groups& groups,
                                          const Facts& facts) {
  std::vector<const Node*> result;
  std::vector<bool> follows;
  for (const Node* node : graph.nodes) {
    if (node->op != Op::concat || groups.home(node) < 0) continue;
    if (groups[groups.home(node)].is_placed || !is_placeable(graph, groups, node, facts)) continue;
    if (follows.empty()) follows = follow_reductions(graph);
    if (std::ranges::any_of(node->operands,
                            [&](const Node* operand) { return follows[operand->id]; }))
      result.push_back(node);
  }
  return result;
}

}  // namespace sinter
