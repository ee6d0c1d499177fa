// Recording of collectives. The ops cut and join arrays along axis 0; other axes are moved there
// and back by views.
#include <algorithm>
#include <numeric>

#include "ir/collectives/collective_node.h"
#include "ir/collectives/ordered_reduction.h"
#include "ir/record/composite.h"
#include "ir/text/lexer.h"
#include "sinter/views.h"

#include <fmt/format.h>

namespace sinter {

namespace {

/// Records the op over all ranks. `last` is its third attribute, if it has one.
Tensor record_collective(Op op, const Operand& x, const RankGroup& group,
                         std::optional<Attribute> last = std::nullopt) {
  const std::string_view name = info(op).name;
  GraphData& graph = graph_of(name, x);
  const Node& node = node_of(name, x);
  check_group(name, graph, group, x.location);
  const ShapeVector shape = collective_shape(op, node, group.size, x.location);
  if (group.size == 1) return x.tensor;
  llvm::SmallVector<Attribute, 4> attributes = {{.text = group.name}, {.integer = group.size}};
  if (last) attributes.push_back(*last);
  attributes.push_back({.integer = 0});  // the sequence
  const Node* const operands[] = {&node};
  return record_node(graph, op, node.dtype, operands, shape, attributes, x.location);
}

/// `x` with `axis` in front.
Operand in_front(const Operand& x, std::int64_t axis) {
  if (axis == 0) return x;
  AxesVector order(static_cast<std::size_t>(x.tensor.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  return with_location(permute(x, order), x);
}

/// `x` with axis 0 moved to the place `axis`.
Tensor moved_back(Tensor x, std::int64_t axis) {
  if (axis == 0) return x;
  AxesVector order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + 1, order.begin() + axis + 1);
  return permute(x, order);
}

void check_reducible(std::string_view op, const Operand& x) {
  const Node& node = node_of(op, x);
  if (!can_reduce_over_ranks(node.dtype))
    fail(op,
         fmt::format("the operand is {}; no communicator reduces {}, so cast it to {}",
                     type_text(node), name(node.dtype),
                     is_floating(node.dtype) ? "bf16 or f32" : "i32"),
         x.location);
}

void check_root(std::string_view op, int root, const RankGroup& group, Location location) {
  if (root < 0 || root >= group.size)
    fail(op,
         fmt::format("there is no rank {} in group {}; the ranks are 0 to {}", root,
                     printable(group.name), group.size - 1),
         location);
}

Tensor recorded_all_reduce(const Operand& x, const RankGroup& group, RankReduction reduction) {
  return record_collective(Op::all_reduce, x, group, Attribute{.text = to_string(reduction)});
}

Tensor recorded_reduce_scatter(const Operand& x, const RankGroup& group, RankReduction reduction) {
  return record_collective(Op::reduce_scatter, x, group, Attribute{.text = to_string(reduction)});
}

/// The sum over the ranks, divided by their number. Divides in f32 at least, because 16 bits do not
/// represent every number of ranks.
Tensor mean_of(Tensor sum, const RankGroup& group) {
  if (size_of(sum.dtype()) >= 4) return sum / group.size;
  return cast(cast(sum, f32) / group.size, sum.dtype());
}

/// The operand of a reduction. The mean of integers is computed in f32.
Operand reduced_operand(const Operand& x, RankReduction reduction) {
  const bool is_widened = reduction == RankReduction::mean && !is_floating(x.tensor.dtype());
  return is_widened ? with_location(cast(x, f32), x) : x;
}

Tensor fast_all_reduce(const Operand& x, const RankGroup& group, const AllReduceOptions& options) {
  const bool is_mean = options.reduction == RankReduction::mean;
  const Operand own =
      options.axis ? with_location(reduced(x.tensor, options.reduction, *options.axis), x) : x;
  // The mean over the axis comes first, because a sum of f16 may exceed its range.
  const Tensor total =
      recorded_all_reduce(own, group, is_mean ? RankReduction::sum : options.reduction);
  return is_mean ? mean_of(total, group) : total;
}

}  // namespace

Tensor all_reduce(const Operand& x, const RankGroup& group, const AllReduceOptions& given) {
  constexpr std::string_view kOp = "all_reduce";
  check_reducible(kOp, x);
  check_group(kOp, graph_of(kOp, x), group, x.location);
  const LocationScope scope(x);
  AllReduceOptions options = given;
  if (given.axis)
    options.axis = static_cast<int>(checked_axis(kOp, *given.axis, node_of(kOp, x), x.location));
  const Operand own = reduced_operand(x, options.reduction);
  if (options.order == Reduce::fast) return fast_all_reduce(own, group, options);
  return ordered_all_reduce(
      options.axis ? in_front(own, *options.axis) : with_location(unsqueeze(own, 0), x), group,
      options.reduction);
}

Tensor all_gather(const Operand& x, const RankGroup& group, int axis) {
  constexpr std::string_view kOp = "all_gather";
  const LocationScope scope(x);
  const std::int64_t place = checked_axis(kOp, axis, node_of(kOp, x), x.location);
  return moved_back(record_collective(Op::all_gather, in_front(x, place), group), place);
}

Tensor reduce_scatter(const Operand& x, const RankGroup& group, int axis, RankReduction reduction,
                      Reduce order) {
  constexpr std::string_view kOp = "reduce_scatter";
  check_reducible(kOp, x);
  const LocationScope scope(x);
  const std::int64_t place = checked_axis(kOp, axis, node_of(kOp, x), x.location);
  check_group(kOp, graph_of(kOp, x), group, x.location);
  check_parts(kOp, node_of(kOp, x), place, group.size, x.location);
  const Operand own = in_front(reduced_operand(x, reduction), place);
  if (order == Reduce::ordered)
    return moved_back(ordered_reduce_scatter(own, group, reduction), place);
  const bool is_mean = reduction == RankReduction::mean;
  const Tensor part = moved_back(
      recorded_reduce_scatter(own, group, is_mean ? RankReduction::sum : reduction), place);
  return is_mean ? mean_of(part, group) : part;
}

Tensor broadcast(const Operand& x, const RankGroup& group, int root) {
  check_group("broadcast", graph_of("broadcast", x), group, x.location);
  check_root("broadcast", root, group, x.location);
  return record_collective(Op::broadcast, x, group, Attribute{.integer = root});
}

Tensor reduce_to(const Operand& x, const RankGroup& group, int root) {
  check_reducible("reduce_to", x);
  check_group("reduce_to", graph_of("reduce_to", x), group, x.location);
  check_root("reduce_to", root, group, x.location);
  return record_collective(Op::reduce_to, x, group, Attribute{.integer = root});
}

Tensor all_to_all(const Operand& x, const RankGroup& group, int split_axis, int concat_axis) {
  constexpr std::string_view kOp = "all_to_all";
  const LocationScope scope(x);
  const std::int64_t split = checked_axis(kOp, split_axis, node_of(kOp, x), x.location);
  const std::int64_t concat = checked_axis(kOp, concat_axis, node_of(kOp, x), x.location);
  check_group(kOp, graph_of(kOp, x), group, x.location);
  check_parts(kOp, node_of(kOp, x), split, group.size, x.location);
  const Tensor received = record_collective(Op::all_to_all, in_front(x, split), group);
  if (split == 0 && concat == 0) return received;
  // The parts of the senders, in front of the axes of x.
  ShapeVector parts(received.shape().begin(), received.shape().end());
  parts[0] = floor_div(parts[0], group.size);
  parts.insert(parts.begin(), Extent(group.size));
  AxesVector order = {0};
  for (std::int64_t axis = 0; axis < x.tensor.rank(); ++axis)
    order.push_back(axis == split ? 1 : axis < split ? axis + 2 : axis + 1);
  std::rotate(order.begin(), order.begin() + 1, order.begin() + concat + 1);
  const Tensor placed = permute(reshape(received, parts), order);
  ShapeVector shape(placed.shape().begin(), placed.shape().end());
  const auto place = shape.begin() + concat;
  place[1] = place[0] * place[1];
  shape.erase(place);
  return reshape(placed, shape);
}

Tensor send_receive(const Operand& x, const RankGroup& group, const std::vector<RankPair>& pairs) {
  constexpr std::string_view kOp = "send_receive";
  check_group(kOp, graph_of(kOp, x), group, x.location);
  std::vector<std::int64_t> ranks;
  for (const RankPair& pair : pairs) {
    ranks.push_back(pair.from);
    ranks.push_back(pair.to);
  }
  check_pairs(ranks, group.size, x.location);
  // One rank sends to itself, or receives nothing.
  if (group.size == 1 && pairs.empty()) return zeros_like(x.tensor);
  return record_collective(Op::send_receive, x, group, Attribute{.integers = ranks});
}

}  // namespace sinter
