// Intervals of the oracle: the values that a device may have before rounding, and their rounding.
#include "ir/oracle/interpret_ops.h"
#include "ir/types/casts.h"

#include <algorithm>
#include <cmath>

namespace sinter {

Interval rounded(const Interval& exact, DType dtype) {
  return {.value = round_to(dtype, exact.value),
          .low = round_to(dtype, exact.low),
          .high = round_to(dtype, exact.high)};
}

Element to_element(const Interval& representable) {
  const auto value = static_cast<double>(representable.value);
  const long double low = representable.low;
  const long double high = representable.high;
  const bool all_nan = std::isnan(value) && std::isnan(low) && std::isnan(high);
  if (all_nan || (value == low && value == high)) return {.value = value, .bound = 0};
  // The device's value may differ. If it may even be infinite or NaN, the element is undecided.
  if (!std::isfinite(value) || !std::isfinite(low) || !std::isfinite(high))
    return {.value = value, .bound = kUndecided};
  const long double bound = std::max(representable.value - low, high - representable.value);
  auto narrow = static_cast<double>(bound);
  if (static_cast<long double>(narrow) < bound) narrow = std::nextafter(narrow, kUndecided);
  return {.value = value, .bound = narrow};
}

Element round_within(DType dtype, long double value, long double bound) {
  if (std::isinf(bound)) return {.value = round_to(dtype, value), .bound = kUndecided};
  return to_element(rounded(within(value, bound), dtype));
}

}  // namespace sinter
