// The oracle for cast and bitcast. A cast to integers is undecided if the error of the operand can
// change its result.
#include "ir/oracle/interpret_ops.h"
#include "ir/types/casts.h"

#include <algorithm>
#include <cmath>

namespace sinter {

namespace {

/// True if every value within `bound` of `value` converts to the same integer.
bool is_decided(DType to, long double value, long double bound) {
  if (bound == 0) return true;
  if (std::isinf(bound)) return false;
  if (to == boolean) return std::fabs(value) > bound;
  return cast_to_integer(to, value - bound) == cast_to_integer(to, value + bound);
}

/// Reinterprets the bytes, as a device does. Elements with an error, and NaNs, whose payload is not
/// defined, are undecided.
Expected interpret_bitcast(const NodeEvaluation& evaluation) {
  const Expected& from = *evaluation.operands[0];
  const HostArray array = to_array(from);
  HostArray same_bits(evaluation.node.dtype, evaluation.shape);
  std::ranges::copy(array.bytes(), same_bits.bytes().begin());
  Expected result = from_array(same_bits);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool has_payload = is_floating(from.dtype) && std::isnan(from.reals[at]);
    if (from.bound(i) == 0 && !has_payload) continue;
    result.bounds.resize(static_cast<std::size_t>(result.size()));
    result.bounds[at] = kUndecided;
  }
  return result;
}

}  // namespace

Expected interpret_cast(const NodeEvaluation& evaluation) {
  if (evaluation.node.op == Op::bitcast) return interpret_bitcast(evaluation);
  const Expected& from = *evaluation.operands[0];
  const DType to = evaluation.node.dtype;
  Expected result = make_expected(to, evaluation.shape, !from.bounds.empty());
  in_parallel(result.size(), 30, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double bound = from.bound(i);
      if (is_floating(from.dtype) && is_floating(to)) {
        set_element(result, at, round_within(to, from.reals[at], bound));
      } else if (is_floating(from.dtype)) {
        const bool decided = is_decided(to, from.reals[at], bound);
        set_element(result, at,
                    IntegerElement{.value = cast_to_integer(to, from.reals[at]),
                                   .bound = decided ? 0 : kUndecided});
      } else {
        const Wide value = from.wide(i);
        if (is_floating(to))
          set_element(
              result, at,
              Element{.value = round_to(to, static_cast<long double>(value)), .bound = bound});
        else
          set_element(result, at, IntegerElement{.value = wrap_to(to, value), .bound = bound});
      }
    }
  });
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
