#include "ir/collectives/ordered_reduction.h"

#include "ir/shape/extent.h"
#include "ir/record/composite.h"
#include "sinter/views.h"

namespace sinter {

namespace {

/// A gather of at most this many bytes is faster than an exchange and a smaller gather, because
/// latency dominates. NCCL's latency is some 10 us, in which a link of 100 GB/s sends 1 MiB. The
/// gather must also be cheap in memory.
constexpr std::int64_t kMostGatheredBytes = 64 << 10;

Tensor reduction_of(Tensor x, RankReduction reduction, int axis) {
  switch (reduction) {
    case RankReduction::sum: return sum(x, {axis});
    case RankReduction::prod: return prod(x, {axis});
    case RankReduction::max: return max(x, {axis});
    case RankReduction::min: return min(x, {axis});
    case RankReduction::mean: return mean(x, {axis});
  }
  throw InternalError("a reduction over ranks has no name");
}

bool is_small(Tensor pieces, const RankGroup& group) {
  Extent elements = group.size;
  for (const Extent extent : pieces.shape()) elements = elements * extent;
  return elements.is_number() && elements.number() * size_of(pieces.dtype()) <= kMostGatheredBytes;
}

/// The rows with zeros behind, so that each has `length` elements.
Tensor padded_rows(Tensor rows, Extent length) {
  const Extent missing = length - rows.shape()[1];
  if (missing.is(0)) return rows;
  const Operand number = {Literal::of(0), rows.graph()->location(rows.node())};
  const Tensor zero = as_tensor("concat", *rows.graph(), number, rows.dtype());
  return concat({rows, broadcast_to(zero, {rows.shape()[0], missing})}, 1);
}

}  // namespace

Tensor reduced(Tensor x, RankReduction reduction, int axis) {
  const Tensor y = reduction_of(x, reduction, axis);
  return reduction == RankReduction::mean ? y : cast(y, x.dtype());
}

Tensor ordered_all_reduce(const Operand& pieces, const RankGroup& group, RankReduction reduction) {
  const std::span<const Extent> shape = pieces.tensor.shape();
  const std::span<const Extent> result_shape = shape.subspan(1);
  const Extent count = shape[0];
  const Extent elements = product(result_shape);
  const Tensor rows = reshape(pieces, {count, elements});
  if (group.size == 1 || is_small(rows, group)) {
    const Tensor all = all_gather(with_location(rows, pieces), group);
    return reshape(reduced(all, reduction, 0), result_shape);
  }
  // Part i of every row goes to rank i, which reduces it.
  const Extent ranks = group.size;
  const Extent part = ceil_div(elements, group.size);
  const Tensor padded = padded_rows(rows, part * ranks);
  const Tensor parts = permute(reshape(padded, {count, ranks, part}), {1, 0, 2});
  const Tensor sent = reshape(parts, {ranks * count, part});
  const Tensor received = all_to_all(with_location(sent, pieces), group);
  const Tensor own = reduced(received, reduction, 0);
  const Tensor all = all_gather(with_location(own, pieces), group);
  return reshape(slice(all, 0, 0, elements), result_shape);
}

Tensor ordered_reduce_scatter(const Operand& x, const RankGroup& group, RankReduction reduction) {
  const Tensor received = all_to_all(x, group);
  ShapeVector shape(received.shape().begin(), received.shape().end());
  shape[0] = floor_div(shape[0], group.size);
  shape.insert(shape.begin(), Extent(group.size));
  return reduced(reshape(received, shape), reduction, 0);
}

}  // namespace sinter
