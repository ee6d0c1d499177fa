// Simplifies slices and concats that cancel each other.
#include "compiler/simplify/graph_sweep.h"
#include "compiler/simplify/simplify_structure.h"
#include "ir/record/record.h"

#include <algorithm>
#include <optional>

namespace sinter {

namespace {

/// Maximum number of operands of a merged concat. It keeps the cost of chains of writes linear in
/// their length.
constexpr std::size_t kMaxOperands = 64;

/// The elements [begin, end) of a node along an axis.
struct Range {
  const Node* of = nullptr;
  Extent begin;
  Extent end;
};

/// The range that a slice with step 1 along `axis` reads.
std::optional<Range> range_of_slice(const Node& node, std::int64_t axis) {
  if (node.op != Op::slice || attribute(node, "axis").integer != axis ||
      attribute(node, "step").integer != 1)
    return std::nullopt;
  return Range{.of = node.operand(0),
               .begin = attribute(node, "begin").extent,
               .end = attribute(node, "end").extent};
}

bool is_concat_along(const Node& node, std::int64_t axis) {
  return node.op == Op::concat && attribute(node, "axis").integer == axis;
}

const Node* make_slice(GraphData& graph, const Range& range, std::int64_t axis,
                       const Node* replaced) {
  if (range.begin.is(0) && range.end == range.of->shape[static_cast<std::size_t>(axis)])
    return range.of;
  return slice(operand_at(graph, range.of, replaced), static_cast<int>(axis), range.begin,
               range.end)
      .node();
}

/// `result` if it has the shape of `node`; the same symbolic extent may have two forms.
const Node* if_of_shape(const Node* result, const Node* node) {
  return std::ranges::equal(result->shape, node->shape) ? result : node;
}

/// The operands of a concat that `range` covers exactly; none if it cuts through an operand.
std::span<const Node* const> covered_operands(const Range& range, std::int64_t axis) {
  const std::span<const Node* const> all = range.of->operands;
  std::optional<std::size_t> first;
  Extent begin = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!first && begin == range.begin) first = i;
    begin = begin + all[i]->shape[static_cast<std::size_t>(axis)];
    if (first && begin == range.end) return all.subspan(*first, i + 1 - *first);
  }
  return {};
}

/// Appends `node` to `segments`. Extends the last segment if both are adjacent slices of one array.
void append_segment(GraphData& graph, llvm::SmallVectorImpl<const Node*>& segments,
                    const Node* node, std::int64_t axis, const Node* replaced) {
  if (!segments.empty()) {
    const std::optional<Range> before = range_of_slice(*segments.back(), axis);
    const std::optional<Range> next = range_of_slice(*node, axis);
    if (before && next && before->of == next->of && before->end == next->begin) {
      segments.back() = make_slice(
          graph, {.of = next->of, .begin = before->begin, .end = next->end}, axis, replaced);
      return;
    }
  }
  segments.push_back(node);
}

}  // namespace

const Node* slice_of_segment(GraphData& graph, const Node* node) {
  if (node->op != Op::slice) return node;
  const std::int64_t axis = attribute(*node, "axis").integer;
  const std::optional<Range> range = range_of_slice(*node, axis);
  if (!range || !is_concat_along(*range->of, axis)) return node;
  Extent end = 0;
  for (const Node* segment : range->of->operands) {
    const Extent begin = end;
    end = end + segment->shape[static_cast<std::size_t>(axis)];
    if (!provably_nonnegative(range->begin - begin)) return node;
    // An empty slice may be at the boundary of two operands.
    if (!provably_nonnegative(end - range->end) || !provably_less(range->begin, end)) continue;
    const Range within = {.of = segment, .begin = range->begin - begin, .end = range->end - begin};
    return if_of_shape(make_slice(graph, within, axis, node), node);
  }
  return node;
}

const Node* merge_segments(GraphData& graph, const Node* node) {
  if (node->op != Op::concat) return node;
  const std::int64_t axis = attribute(*node, "axis").integer;
  llvm::SmallVector<const Node*, 8> segments;
  for (const Node* operand : node->operands) {
    const std::optional<Range> range = range_of_slice(*operand, axis);
    std::span<const Node* const> inner;
    if (range && is_concat_along(*range->of, axis)) inner = covered_operands(*range, axis);
    if (inner.empty()) inner = {&operand, 1};
    for (const Node* segment : inner) append_segment(graph, segments, segment, axis, node);
  }
  if (segments.size() > kMaxOperands || std::ranges::equal(segments, node->operands)) return node;
  llvm::SmallVector<Operand, 8> operands;
  for (const Node* segment : segments) operands.push_back(operand_at(graph, segment, node));
  const std::span<const Operand> all(operands.data(), operands.size());
  return if_of_shape(concat(all, static_cast<int>(axis)).node(), node);
}

}  // namespace sinter
