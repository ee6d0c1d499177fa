// The vjps of collectives. The loss is the sum of the losses of all ranks. So the cotangent of a
// value that went to several ranks is the sum of theirs.
#include "ir/autodiff/library_vjp.h"
#include "ir/autodiff/op_vjp.h"
#include "ir/collectives/collective_node.h"
#include "sinter/views.h"

namespace sinter {

namespace {

RankGroup group_like(const Node& node) {
  return {.name = std::string(group_of(node)), .size = static_cast<int>(ranks_of(node))};
}

Op reduction_op(RankReduction reduction) {
  switch (reduction) {
    case RankReduction::sum: return Op::sum;
    case RankReduction::prod: return Op::prod;
    case RankReduction::max: return Op::max;
    default: return Op::min;
  }
}

/// The cotangent of `all` [ranks, ...], the values of all ranks, from that of their reduction.
Tensor cotangent_of_all(Tensor all, RankReduction reduction, Tensor g) {
  const Op op = reduction_op(reduction);
  const std::int64_t axes[] = {0};
  const Tensor y = record_reduction(op, all, axes, {});
  return vjp_of(op)({&all, 1}, y, g).front();
}

/// `g` in a dtype that communicators reduce.
Tensor reducible(Tensor g) { return can_reduce_over_ranks(g.dtype()) ? g : cast(g, f32); }

/// `x` [ranks * n, ...] as [ranks, n, ...].
Tensor by_rank(Tensor x, std::int64_t ranks) {
  ShapeVector shape(x.shape().begin(), x.shape().end());
  shape[0] = floor_div(shape[0], ranks);
  shape.insert(shape.begin(), Extent(ranks));
  return reshape(x, shape);
}

}  // namespace

std::vector<Tensor> all_reduce_vjp(std::span<const Tensor> operands, Tensor y, Tensor g) {
  const Node& node = *y.node();
  const RankGroup group = group_like(node);
  const RankReduction reduction = rank_reduction_of(node);
  if (reduction == RankReduction::sum)
    return {all_reduce(g, group, {.order = Reduce::fast})};
  const Tensor all = all_gather(unsqueeze(operands[0], 0), group);
  const Tensor own = reduce_scatter(cotangent_of_all(all, reduction, g), group);
  return {squeeze(own, 0)};
}

std::vector<Tensor> all_gather_vjp(std::span<const Tensor>, Tensor y, Tensor g) {
  return {cast(reduce_scatter(reducible(g), group_like(*y.node())), g.dtype())};
}

std::vector<Tensor> reduce_scatter_vjp(std::span<const Tensor> operands, Tensor y, Tensor g) {
  const Node& node = *y.node();
  const RankGroup group = group_like(node);
  const RankReduction reduction = rank_reduction_of(node);
  if (reduction == RankReduction::sum) return {all_gather(g, group)};
  const Tensor all = by_rank(all_to_all(operands[0], group), group.size);
  const Tensor cotangent = cotangent_of_all(all, reduction, g);
  return {all_to_all(reshape(cotangent, operands[0].shape()), group)};
}

std::vector<Tensor> broadcast_vjp(std::span<const Tensor>, Tensor y, Tensor g) {
  const Node& node = *y.node();
  const auto root = static_cast<int>(attribute(node, "root").integer);
  return {cast(reduce_to(reducible(g), group_like(node), root), g.dtype())};
}

std::vector<Tensor> reduce_to_vjp(std::span<const Tensor>, Tensor y, Tensor g) {
  const Node& node = *y.node();
  return {broadcast(g, group_like(node), static_cast<int>(attribute(node, "root").integer))};
}

std::vector<Tensor> all_to_all_vjp(std::span<const Tensor>, Tensor y, Tensor g) {
  return {all_to_all(g, group_like(*y.node()))};
}

std::vector<Tensor> send_receive_vjp(std::span<const Tensor>, Tensor y, Tensor g) {
  const Node& node = *y.node();
  const std::span<const std::int64_t> ranks = attribute(node, "pairs").integers;
  std::vector<RankPair> back;
  for (std::size_t i = 0; i + 1 < ranks.size(); i += 2)
    back.push_back({.from = static_cast<int>(ranks[i + 1]), .to = static_cast<int>(ranks[i])});
  return {send_receive(g, group_like(node), back)};
}

}  // namespace sinter
