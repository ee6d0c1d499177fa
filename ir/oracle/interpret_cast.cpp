// The oracle for cast: values rounded, cut or wrapped, and whether that is certain.
#include "ir/oracle/interpret_ops.h"
#include "ir/types/rounding.h"

#include <algorithm>
#include <cmath>

namespace sinter {

namespace {

Element cast_to_real(DType to, long double value, long double bound) {
  if (std::isinf(bound)) return {.value = round_to(to, value), .bound = kUndecided};
  return to_element(rounded({.value = value, .low = value - bound, .high = value + bound}, to));
}

/// True if every value within `bound` of `value` becomes the same integer.
bool is_decided(DType to, long double value, long double bound) {
  if (bound == 0) return true;
  if (std::isinf(bound)) return false;
  if (to == boolean) return std::fabs(value) > bound;
  return cast_to_integer(to, value - bound) == cast_to_integer(to, value + bound);
}

/// Through memory, as a device does it. What is not certain has no certain bits.
Expected interpret_bitcast(const Application& application) {
  const Expected& from = *application.operands[0];
  const HostArray array = to_array(from);
  HostArray same_bits(application.node.dtype, application.shape);
  std::ranges::copy(array.bytes(), same_bits.bytes().begin());
  Expected result = make_expected(application.node.dtype, application.shape, !from.bounds.empty());
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    const bool has_payload = is_floating(from.dtype) && std::isnan(from.reals[place]);
    if (is_floating(result.dtype))
      result.reals[place] = same_bits.real_at(i);
    else
      result.integers[place] = same_bits.integer_at(i);
    if (from.bound(i) == 0 && !has_payload) continue;
    result.bounds.resize(static_cast<std::size_t>(result.size()));
    result.bounds[place] = kUndecided;
  }
  return result;
}

}  // namespace

Expected interpret_cast(const Application& application) {
  if (application.node.op == Op::bitcast) return interpret_bitcast(application);
  const Expected& from = *application.operands[0];
  const DType to = application.node.dtype;
  Expected result = make_expected(to, application.shape, !from.bounds.empty());
  in_parallel(result.size(), 30, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto place = static_cast<std::size_t>(i);
      double bound = from.bound(i);
      if (is_floating(from.dtype) && is_floating(to)) {
        const Element element = cast_to_real(to, from.reals[place], bound);
        result.reals[place] = element.value;
        bound = element.bound;
      } else if (is_floating(from.dtype)) {
        result.integers[place] = to_stored(cast_to_integer(to, from.reals[place]));
        bound = is_decided(to, from.reals[place], bound) ? 0 : kUndecided;
      } else if (is_floating(to)) {
        result.reals[place] =
            round_to(to, static_cast<long double>(from_stored(from.dtype, from.integers[place])));
      } else {
        result.integers[place] =
            to_stored(wrap_to(to, from_stored(from.dtype, from.integers[place])));
      }
      if (!result.bounds.empty()) result.bounds[place] = bound;
    }
  });
  drop_exact_bounds(result);
  return result;
}

}  // namespace sinter
