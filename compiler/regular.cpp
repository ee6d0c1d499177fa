#include "compiler/regular.h"

#include <algorithm>

#include "compiler/tree.h"
#include "ir/structural.h"

namespace sinter {

namespace {

using Kind = Regular::Kind;

bool is_in_memory_order(const Node& node) {
  return node.op != Op::input || attribute(node, "strides").extents.empty();
}

/// True if a reader of `operand` reads its elements where they are: none of them twice under
/// different addresses.
bool is_array(const Node& operand) {
  return !is_view(operand) && !is_free(operand) && is_in_memory_order(operand);
}

Regular elementwise(const Node& node) {
  Regular result{.kind = Kind::plain, .is_direct = false, .shape = node.shape};
  bool is_direct = true;
  for (const Node* operand : node.operands) {
    if (is_view(*operand)) {
      is_direct = false;
      // A view of a value may need the value's elements at other places than the reader's.
      while (is_view(*operand)) operand = operand->operand(0);
      if (!is_source(operand->op)) return {};
    }
    // What is the same all along the last axis is computed once for several elements.
    if (is_array(*operand) && std::ranges::equal(operand->shape, node.shape))
      result.is_direct = true;
    is_direct = is_direct && (is_array(*operand) || is_free(*operand));
  }
  result.is_direct = result.is_direct && is_direct;
  return result;
}

/// `shape` with 1 as the last extent.
bool is_reduced(std::span<const Extent> reduced, std::span<const Extent> shape) {
  return reduced.size() == shape.size() && reduced.back().is(1) &&
         std::ranges::equal(reduced.first(reduced.size() - 1), shape.first(shape.size() - 1));
}

Regular reduction(const Node& node) {
  const Node& operand = *node.operand(0);
  const std::span<const std::int64_t> axes = reduced_axes(node);
  if (node.operands.size() != 1 || !is_array(operand) || axes.size() != 1 ||
      axes[0] != operand.rank() - 1 || operand.shape.back().is(1) ||
      !is_reduced(node.shape, operand.shape))
    return {};
  return {.kind = Kind::rows, .is_direct = true, .shape = operand.shape};
}

double bytes_of(const Node& node, const Facts& facts) {
  return static_cast<double>(evaluate(product(node.shape), facts.symbols)) * size_of(node.dtype);
}

}  // namespace

Regular regular(const Node& node) {
  if (is_elementwise(node.op) || node.op == Op::cast) return elementwise(node);
  if (is_reduction(node.op)) return reduction(node);
  return {};
}

Regular united(const Regular& a, const Regular& b) {
  if (a.kind == Kind::none || b.kind == Kind::none) return {};
  if (b.kind == Kind::rows && a.kind != Kind::rows) return united(b, a);
  const bool is_of_results = a.kind == Kind::rows && b.kind == Kind::plain && !b.shape.empty() &&
                             is_reduced(b.shape, a.shape);
  if (!is_of_results && !std::ranges::equal(a.shape, b.shape)) return {};
  return {.kind = a.kind, .is_direct = a.is_direct && b.is_direct, .shape = a.shape};
}

std::int64_t most_kept_bytes(const Parts& parts) {
  const auto varies = [](const Node* node) {
    return !node->shape.empty() && !node->shape.back().is(1);
  };
  std::int64_t result = 0;
  for (const Node* node : parts.loads)
    if (varies(node)) result += size_of(node->dtype);
  for (const Node* node : parts.nodes)
    if (varies(node)) result += size_of(info(node->dtype).compute);
  return result;
}

bool reads_once(const Regular& regular, std::int64_t most_kept, const Target& target,
                const Facts& facts) {
  if (regular.kind == Kind::plain) return true;
  if (regular.kind == Kind::none || !regular.is_direct || !regular.shape.back().is_number())
    return false;
  const std::int64_t extent = regular.shape.back().number();
  const std::int64_t rows =
      evaluate(product(regular.shape.first(regular.shape.size() - 1)), facts.symbols);
  return !deals_out_rows(rows, extent, target) && extent * most_kept <= most_resident_bytes(target);
}

Cost cost_of(const Regular& regular, const Parts& parts, const Target& target, const Facts& facts) {
  Cost cost;
  const bool has_rows = regular.kind == Kind::rows;
  const double all = static_cast<double>(evaluate(product(regular.shape), facts.symbols));
  for (const Node* node : parts.loads) cost.bytes_read += bytes_of(*node, facts);
  for (const Node* node : parts.stores) cost.bytes_written += bytes_of(*node, facts);
  for (const Node* node : parts.nodes) {
    const int each = instructions_of(node->op);
    // What it takes to add an element, or to compare it, is lost in the load.
    if (is_reduction(node->op))
      cost.instructions += each > 1 ? each * all : 0;
    else if (!has_rows || !node->shape.back().is(1))
      cost.instructions += each * all;
    else
      cost.instructions +=
          each * static_cast<double>(evaluate(product(node->shape), facts.symbols));
  }
  cost.seconds = seconds_of(cost, target);
  return cost;
}

}  // namespace sinter
