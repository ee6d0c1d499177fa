#include "compiler/cost/group_pattern.h"

#include <algorithm>

#include "compiler/cost/cost.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/size_class.h"
#include "compiler/tiling/row_residency.h"
#include "ir/graph/operand_index.h"

namespace sinter {

namespace {

using Kind = GroupPattern::Kind;

bool is_in_memory_order(const Node& node) {
  return node.op != Op::input || attribute(node, "strides").extents.empty();
}

/// True if readers access `operand` in its own memory order, so that no element is read twice at
/// different addresses.
bool is_array(const Node& operand) {
  return !is_view(operand) && !is_free(operand) && is_in_memory_order(operand);
}

GroupPattern elementwise(const Node& node) {
  GroupPattern result{.kind = Kind::plain, .is_direct = false, .shaped = &node};
  bool is_direct = true;
  for (const Node* operand : node.operands) {
    if (is_view(*operand)) {
      is_direct = false;
      // A view of a computed value may need elements at other positions than the reader's.
      while (is_view(*operand)) operand = operand->operand(0);
      if (!is_source(operand->op)) return {};
    }
    // Requires one operand of the full shape: a value that is constant along the last axis would be
    // computed once for several elements.
    if (is_array(*operand) && std::ranges::equal(operand->shape, node.shape))
      result.is_direct = true;
    is_direct = is_direct && (is_array(*operand) || is_free(*operand));
  }
  result.is_direct = result.is_direct && is_direct;
  return result;
}

/// True if `reduced` equals `shape` with 1 as the last extent.
bool is_reduced(std::span<const Extent> reduced, std::span<const Extent> shape) {
  return reduced.size() == shape.size() && reduced.back().is(1) &&
         std::ranges::equal(reduced.first(reduced.size() - 1), shape.first(shape.size() - 1));
}

GroupPattern reduction(const Node& node) {
  const Node& operand = *node.operand(0);
  const std::span<const std::int64_t> axes = reduced_axes(node);
  if (node.operands.size() != 1 || !is_array(operand) || axes.size() != 1 ||
      axes[0] != operand.rank() - 1 || operand.shape.back().is(1) ||
      !is_reduced(node.shape, operand.shape))
    return {};
  return {.kind = Kind::rows, .is_direct = true, .shaped = &operand};
}

}  // namespace

GroupPattern pattern_of(const Node& node) {
  if (is_elementwise(node.op) || node.op == Op::cast) return elementwise(node);
  if (is_reduction(node.op)) return reduction(node);
  return {};
}

GroupPattern merged_pattern(const GroupPattern& a, const GroupPattern& b) {
  if (a.kind == Kind::none || b.kind == Kind::none) return {};
  const bool is_direct = a.is_direct && b.is_direct;
  if (std::ranges::equal(a.shape(), b.shape()))
    return {.kind = std::max(a.kind, b.kind), .is_direct = is_direct, .shaped = a.shaped};
  // A value that is constant along the last axis has extent 1 there.
  if (b.kind == Kind::plain && is_reduced(b.shape(), a.shape()))
    return {.kind = std::max(a.kind, Kind::mixed), .is_direct = is_direct, .shaped = a.shaped};
  if (a.kind == Kind::plain && is_reduced(a.shape(), b.shape()))
    return {.kind = std::max(b.kind, Kind::mixed), .is_direct = is_direct, .shaped = b.shaped};
  return {};
}

namespace {

/// True if `node`, of a group of known shape, has more than one element along the last axis.
bool varies(const Node& node) { return !node.shape.empty() && !node.shape.back().is(1); }

/// The fraction of positions on the last axis at which a value is computed that is constant along
/// it. 0 if sums of such fractions may be rounded.
double share_of_vector(Extent last, std::span<const std::int64_t> symbols) {
  constexpr std::int64_t kVector = 8;
  return evaluate(last, symbols) >= kVector ? 1.0 / kVector : 0;
}

}  // namespace

std::int64_t max_kept_bytes(const KernelContents& contents) {
  std::int64_t result = 0;
  for (const Node* node : contents.loads)
    if (varies(*node)) result += size_of(node->dtype);
  for (const Node* node : contents.nodes)
    if (varies(*node)) result += size_of(info(node->dtype).compute);
  return result;
}

bool reads_rows_once(const GroupPattern& rows, std::int64_t max_kept, const Target& target,
                     const Facts& facts) {
  if (!rows.is_direct) return false;
  const std::int64_t extent = class_of_residency(rows.shape().back(), facts).high;
  const std::int64_t count =
      evaluate(product(rows.shape().first(rows.shape().size() - 1)), facts.symbols);
  return !splits_rows(count, extent, target) &&
         extent <= most_resident_bytes(target) / std::max<std::int64_t>(max_kept, 1);
}

std::optional<Cost> cost_of(const GroupPattern& pattern, const KernelContents& contents,
                            const Target& target, NodeSizes& sizes) {
  if (pattern.kind == Kind::none || !pattern.is_direct) return std::nullopt;
  const bool is_mixed = pattern.kind == Kind::mixed;
  const double share = is_mixed ? share_of_vector(pattern.shape().back(), sizes.symbols()) : 1;
  // Only the body tells where, and how often, a value that is constant along the last axis is
  // stored.
  if (share == 0 || (is_mixed && !std::ranges::all_of(contents.stores, [](const Node* node) {
                       return varies(*node);
                     })))
    return std::nullopt;
  Cost cost{.bytes_written = contents.further_bytes};
  const double all = sizes.elements(*pattern.shaped);
  for (const Node* node : contents.loads) cost.bytes_read += sizes.bytes(*node);
  for (const Node* node : contents.stores) cost.bytes_written += sizes.bytes(*node);
  for (const Node* node : contents.nodes) {
    const int each = instructions_of(node->op);
    // Adding or comparing an element is hidden by its load.
    if (is_reduction(node->op))
      cost.instructions += each > 1 ? each * all : 0;
    else if (is_mixed && !varies(*node))
      cost.instructions += each * share * all;
    else
      cost.instructions += each * sizes.elements(*node);
  }
  cost.seconds = seconds_of(cost, target);
  return cost;
}

}  // namespace sinter
