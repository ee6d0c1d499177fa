#include "ir/oracle/ranks/interpret_collective.h"

#include "ir/collectives/collective_node.h"
#include "ir/oracle/running_totals.h"
#include "ir/types/casts.h"

namespace sinter {

namespace {

using Operands = std::span<const Expected* const>;

bool is_any_inexact(Operands operands) { return has_bounds(operands); }

/// Copies `count` elements of `from`, with their bounds.
void copy_elements(const Expected& from, std::int64_t begin, std::int64_t count, Expected& to,
                   std::int64_t at) {
  const auto copy = [&](const auto& source, auto& target) {
    if (!source.empty() && !target.empty())
      std::copy_n(source.begin() + begin, count, target.begin() + at);
  };
  copy(from.reals, to.reals);
  copy(from.integers, to.integers);
  copy(from.bounds, to.bounds);
}

Interval real_reduction(RankReduction reduction, Operands operands, std::size_t i) {
  const auto at = static_cast<std::int64_t>(i);
  const DType dtype = operands[0]->dtype;
  const std::int64_t steps = std::ssize(operands) - 1;
  if (reduction == RankReduction::sum) {
    Totals totals;
    for (const Expected* operand : operands) totals.add(operand->reals[i], operand->bound(at));
    return sum_interval(totals, dtype, steps);
  }
  if (reduction == RankReduction::prod) {
    Factors factors;
    for (const Expected* operand : operands)
      factors.multiply(operand->reals[i], operand->bound(at));
    return product_interval(factors, dtype, steps);
  }
  Extreme extreme{.sign = reduction == RankReduction::max ? 1 : -1};
  for (const Expected* operand : operands) extreme.add(operand->reals[i], operand->bound(at));
  // A communicator may return NaN or a number.
  return extreme.has_nan ? undecided(kNan) : extreme.interval();
}

IntegerElement integer_reduction(RankReduction reduction, Operands operands, std::size_t i) {
  const auto at = static_cast<std::int64_t>(i);
  IntegerElement result{.value = operands[0]->wide(at), .bound = operands[0]->bound(at)};
  for (const Expected* operand : operands.subspan(1)) {
    const Wide x = operand->wide(at);
    switch (reduction) {
      case RankReduction::sum: result.value += x; break;
      case RankReduction::prod: result.value = wrap_to(operand->dtype, result.value * x); break;
      case RankReduction::max: result.value = std::max(result.value, x); break;
      default: result.value = std::min(result.value, x); break;
    }
    result.bound = std::max(result.bound, operand->bound(at));
  }
  result.value = wrap_to(operands[0]->dtype, result.value);
  return result;
}

/// The reduction of all elements over the operands.
Expected reduced_over(RankReduction reduction, Operands operands) {
  const Expected& first = *operands[0];
  Expected result = make_expected(first.dtype, first.shape, /*with_bounds=*/true);
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.size()); ++i)
    if (is_floating(result.dtype))
      set_element(result, i,
                  to_element(rounded(real_reduction(reduction, operands, i), result.dtype)));
    else
      set_element(result, i, integer_reduction(reduction, operands, i));
  drop_exact_bounds(result);
  return result;
}

/// Axis 0 of the result is `shape0` long; the other extents are those of `like`.
Expected result_like(const Expected& like, std::int64_t shape0, bool has_bounds) {
  std::vector<std::int64_t> shape = like.shape;
  shape[0] = shape0;
  return make_expected(like.dtype, std::move(shape), has_bounds);
}

Expected gathered(Operands operands) {
  const auto ranks = std::ssize(operands);
  const Expected& first = *operands[0];
  Expected result = result_like(first, first.shape[0] * ranks, is_any_inexact(operands));
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    copy_elements(*operands[static_cast<std::size_t>(rank)], 0, first.size(), result,
                  rank * first.size());
  return result;
}

/// Part `rank` of axis 0.
Expected part_of(const Expected& whole, std::int64_t rank, std::int64_t ranks) {
  Expected result = result_like(whole, whole.shape[0] / ranks, !whole.bounds.empty());
  copy_elements(whole, rank * result.size(), result.size(), result, 0);
  return result;
}

/// The parts that `rank` receives, in the order of the senders.
Expected exchanged(Operands operands, std::int64_t rank) {
  const auto ranks = std::ssize(operands);
  const Expected& first = *operands[0];
  Expected result = make_expected(first.dtype, first.shape, is_any_inexact(operands));
  const std::int64_t part = first.size() / ranks;
  for (std::int64_t sender = 0; sender < ranks; ++sender)
    copy_elements(*operands[static_cast<std::size_t>(sender)], rank * part, part, result,
                  sender * part);
  return result;
}

Expected zeros_like(const Expected& like) {
  return make_expected(like.dtype, like.shape, /*with_bounds=*/false);
}

/// The operand of the rank that sends to `rank`; zeros if none does.
Expected received(const Node& node, Operands operands, std::int64_t rank) {
  const std::span<const std::int64_t> pairs = attribute(node, "pairs").integers;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i + 1] == rank) return *operands[static_cast<std::size_t>(pairs[i])];
  return zeros_like(*operands[0]);
}

}  // namespace

std::vector<Expected> interpret_collective(const Node& node, Operands operands) {
  const auto ranks = std::ssize(operands);
  std::vector<Expected> results;
  const auto for_each_rank = [&](auto result) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) results.push_back(result(rank));
  };
  switch (node.op) {
    case Op::all_reduce: {
      const Expected all = reduced_over(rank_reduction_of(node), operands);
      for_each_rank([&](std::int64_t) { return all; });
      break;
    }
    case Op::reduce_scatter: {
      const Expected all = reduced_over(rank_reduction_of(node), operands);
      for_each_rank([&](std::int64_t rank) { return part_of(all, rank, ranks); });
      break;
    }
    case Op::reduce_to: {
      const std::int64_t root = attribute(node, "root").integer;
      const Expected all = reduced_over(RankReduction::sum, operands);
      for_each_rank([&](std::int64_t rank) { return rank == root ? all : zeros_like(all); });
      break;
    }
    case Op::all_gather: {
      const Expected all = gathered(operands);
      for_each_rank([&](std::int64_t) { return all; });
      break;
    }
    case Op::broadcast: {
      const auto root = static_cast<std::size_t>(attribute(node, "root").integer);
      for_each_rank([&](std::int64_t) { return *operands[root]; });
      break;
    }
    case Op::all_to_all:
      for_each_rank([&](std::int64_t rank) { return exchanged(operands, rank); });
      break;
    case Op::send_receive:
      for_each_rank([&](std::int64_t rank) { return received(node, operands, rank); });
      break;
    default: throw InternalError("interpret_collective: this is no collective");
  }
  for (Expected& result : results) drop_exact_bounds(result);
  return results;
}

}  // namespace sinter
