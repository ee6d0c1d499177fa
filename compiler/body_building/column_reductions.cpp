// Reductions over the rows of a kernel that also reduces each row: how they are recognized and what
// they read. One read of the data serves both.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/body_building/body_builder.h"
#include "ir/graph/operand_index.h"

namespace sinter {

namespace {

bool reduces_last_axis(const Node& reduction) {
  const int last = reduction.operand(0)->rank() - 1;
  return std::ranges::find(reduced_axes(reduction), last) != reduced_axes(reduction).end();
}

/// True for reductions of arrays of one shape, over disjoint axes.
bool are_crosswise(const Node& a, const Node& b) {
  return std::ranges::equal(a.operand(0)->shape, b.operand(0)->shape) &&
         std::ranges::none_of(reduced_axes(a), [&](std::int64_t axis) {
           return std::ranges::find(reduced_axes(b), axis) != reduced_axes(b).end();
         });
}

}  // namespace

const Node& BodyBuilder::primary_reduction(const Node& first) const {
  if (!is_reduction(first.op) || reduces_last_axis(first)) return first;
  for (const Node* node : request_.nodes)
    if (is_reduction(node->op) && reduces_last_axis(*node) &&
        product(node->shape) == reduced_extent(first) &&
        reduced_extent(*node) == product(first.shape))
      return *node;
  return first;
}

bool BodyBuilder::is_over_columns(const Node& node) const {
  if (!primary_ || primary_ == &node || !is_reduction(primary_->op)) return false;
  const Extent rows = rows_;
  if (rows.is(1) || reduced_extent(node) != rows || product(node.shape) != body_.reduced_size() ||
      !std::ranges::is_sorted(reduction_order(node)))
    return false;
  // In a square, only the axes tell rows and columns apart.
  return rows != body_.reduced_size() || are_crosswise(node, *primary_);
}

std::vector<Index> BodyBuilder::column_indices(const Node& reduction) {
  const Node& operand = *reduction.operand(0);
  const std::span<const std::int64_t> axes = reduced_axes(reduction);
  std::vector<Extent> reduced, kept;
  std::vector<bool> goes;
  for (int axis = 0; axis < operand.rank(); ++axis) {
    goes.push_back(std::ranges::find(axes, axis) != axes.end());
    (goes.back() ? reduced : kept).push_back(operand.shape[static_cast<std::size_t>(axis)]);
  }
  const std::vector<Index> along = body_.space.delinearize(row_, reduced);
  const std::vector<Index> across =
      body_.space.delinearize(body_.space.axis(body_.parallel_axes), kept);
  std::vector<Index> result;
  std::size_t next_along = 0, next_across = 0;
  for (const bool is_along : goes)
    result.push_back(is_along ? along[next_along++] : across[next_across++]);
  return result;
}

int BodyBuilder::column_result(const Node& node, int position) {
  if (positions_.number_in(body_.space, position, node.shape) !=
      body_.space.axis(body_.parallel_axes))
    throw Refusal{fmt::format("{} is available only after all rows", names_(&node))};
  for (const BodyReduction& known : body_.columns)
    if (known.node == &node) return known.result;
  const int operand = reduced_operand(node, positions_.of(column_indices(node)));
  const Value value = body_.values[static_cast<std::size_t>(operand)];
  if (value.is_final) throw Refusal{fmt::format("{} needs a result of all rows", names_(&node))};
  const int result = add(result_of(node, {.varies = true, .stage = value.stage, .is_final = true}));
  body_.columns.push_back(
      {.node = &node, .operand = operand, .result = result, .stage = value.stage});
  return result;
}

bool BodyBuilder::is_of_columns(const Node& node) const {
  if (!has_columns_) return false;
  std::vector<const Node*> pending = {&node};
  DenseSet<const Node*> seen;
  while (!pending.empty()) {
    const Node* at = pending.back();
    pending.pop_back();
    if (at->op == Op::input || !seen.insert(at).second) continue;
    if (!inside_.contains(at) && !is_view(*at)) continue;
    if (is_reduction(at->op)) {
      if (is_over_columns(*at)) return true;
      continue;
    }
    pending.insert(pending.end(), at->operands.begin(), at->operands.end());
  }
  return false;
}

}  // namespace sinter
