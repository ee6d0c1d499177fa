// Computes the reductions and scans of a body: of each row, of one value per row over all rows, and
// of columns over all rows. One read of the data serves all of them.
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

std::vector<Index> BodyBuilder::operand_indices(const Node& reduction, const Index& reduced_at,
                                                const Index& kept_at) {
  const Node& operand = *reduction.operand(0);
  const std::vector<std::int64_t> order = reduction_order(reduction);
  std::vector<Extent> reduced;
  for (const std::int64_t axis : order)
    reduced.push_back(operand.shape[static_cast<std::size_t>(axis)]);
  const std::vector<Index> along = body_.space.delinearize(reduced_at, reduced);
  const std::vector<Index> across = body_.space.delinearize(kept_at, parallel_extents(reduction));
  std::vector<Index> result(operand.shape.size());
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < result.size(); ++axis) {
    const auto found = std::ranges::find(order, static_cast<std::int64_t>(axis));
    result[axis] = found == order.end() ? across[next++]
                                        : along[static_cast<std::size_t>(found - order.begin())];
  }
  return result;
}

int BodyBuilder::operand_position(const Node& reduction) {
  const int shape = positions_.shape(reduction.operand(0)->shape);
  std::vector<std::int64_t> order = reduction_order(reduction);
  for (const OperandPosition& known : operand_positions_)
    if (known.shape == shape && known.order == order) return known.position;
  const int position =
      positions_.of(operand_indices(reduction, body_.space.axis(body_.parallel_axes), row_));
  operand_positions_.push_back({.shape = shape, .order = std::move(order), .position = position});
  return position;
}

bool BodyBuilder::is_over_rows(const Node& node) const {
  return primary_ != &node && !rows_.is(1) && reduced_extent(node) == rows_ &&
         product(node.shape).is(1) && reduced_extent(node) == product(node.operand(0)->shape) &&
         std::ranges::is_sorted(reduction_order(node));
}

int BodyBuilder::reduced_operand(const Node& node, int position) {
  const std::vector<Condition> outer = std::exchange(conditions_, {});
  const int operand = evaluate(*node.operand(0), position);
  conditions_ = outer;
  return operand;
}

int BodyBuilder::add_reduction(std::vector<BodyReduction>& reductions, int operand, Value result) {
  const int pass = body_.values[static_cast<std::size_t>(operand)].stage;
  result.kind = Value::Kind::reduced;
  result.dtype = result.node->dtype;
  reductions.push_back({.node = result.node, .operand = operand, .stage = pass});
  return reductions.back().result = add(std::move(result));
}

int BodyBuilder::final_result(const Node& node) {
  for (const BodyReduction& known : body_.finals)
    if (known.node == &node) return known.result;
  const Node& from = *node.operand(0);
  const int operand =
      reduced_operand(node, positions_.of(body_.space.delinearize(row_, from.shape)));
  const Value& value = body_.values[static_cast<std::size_t>(operand)];
  if (value.varies || value.is_final)
    throw Refusal{fmt::format("{} does not reduce one value per row", names_(&node))};
  return add_reduction(body_.finals, operand,
                       {.node = &node, .stage = value.stage, .is_final = true});
}

int BodyBuilder::scanned(const Node& node, int position) {
  if (primary_ != &node)
    throw Refusal{fmt::format("{} scans whole rows and needs a kernel of its own", names_(&node))};
  if (body_.space.without_bounds(positions_.number_in(body_.space, position, node.shape)) !=
      element_)
    throw Refusal{
        fmt::format("{} is needed at other positions than the scan's current one", names_(&node))};
  if (body_.scan) return body_.scan->result;
  const int operand = reduced_operand(node, operand_position(node));
  const int result = add({.kind = Value::Kind::scanned,
                          .node = &node,
                          .dtype = node.dtype,
                          .operands = {operand},
                          .varies = true});
  body_.scan = BodyReduction{.node = &node, .operand = operand, .result = result};
  return result;
}

int BodyBuilder::reduced(const Node& node, int position) {
  if (primary_ && is_scan(primary_->op))
    throw Refusal{
        fmt::format("{} scans whole rows and needs a kernel of its own", names_(primary_))};
  if (scatter_) throw Refusal{fmt::format("{} needs a result of a whole row", names_(scatter_))};
  if (is_over_rows(node)) return final_result(node);
  if (is_over_columns(node)) return column_result(node, position);
  if (reduced_extent(node) != body_.reduced_size())
    throw Refusal{fmt::format("{} reduces {} elements and {} reduces {}", names_(&node),
                              to_string(reduced_extent(node)), names_(primary_),
                              to_string(body_.reduced_size()))};
  // The kept axes have extent 1, so the shape in row-major order is that of the rows.
  if (product(node.shape) != rows_ ||
      body_.space.without_bounds(positions_.number_in(body_.space, position, node.shape)) != row_)
    throw Refusal{
        fmt::format("{} is needed at other rows than the one being computed", names_(&node))};
  for (std::size_t i = 0; i < body_.reductions.size(); ++i)
    if (body_.reductions[i].node == &node && reduction_segments_[i] == segment_)
      return body_.reductions[i].result;
  const int operand = reduced_operand(node, operand_position(node));
  const Value& value = body_.values[static_cast<std::size_t>(operand)];
  if (value.is_final) throw Refusal{fmt::format("{} needs a result of all rows", names_(&node))};
  reduction_segments_.push_back(segment_);
  return add_reduction(body_.reductions, operand, {.node = &node, .stage = value.stage + 1});
}

// --- columns ------------------------------------------------------------------------------------

bool BodyBuilder::is_over_columns(const Node& node) const {
  if (!primary_ || primary_ == &node || !is_reduction(primary_->op)) return false;
  const Extent rows = rows_;
  if (rows.is(1) || reduced_extent(node) != rows || product(node.shape) != body_.reduced_size() ||
      !std::ranges::is_sorted(reduction_order(node)))
    return false;
  // In a square, only the axes tell rows and columns apart.
  return rows != body_.reduced_size() || are_crosswise(node, *primary_);
}

int BodyBuilder::column_result(const Node& node, int position) {
  if (positions_.number_in(body_.space, position, node.shape) !=
      body_.space.axis(body_.parallel_axes))
    throw Refusal{fmt::format("{} is available only after all rows", names_(&node))};
  for (const BodyReduction& known : body_.columns)
    if (known.node == &node) return known.result;
  const int operand = reduced_operand(
      node, positions_.of(operand_indices(node, row_, body_.space.axis(body_.parallel_axes))));
  const Value& value = body_.values[static_cast<std::size_t>(operand)];
  if (value.is_final) throw Refusal{fmt::format("{} needs a result of all rows", names_(&node))};
  return add_reduction(body_.columns, operand,
                       {.node = &node, .varies = true, .stage = value.stage, .is_final = true});
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
