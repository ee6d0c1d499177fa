#include "tools/onnx/ops/math/small_float_casts.h"

#include "tools/onnx/model/element_type.h"
#include "tools/onnx/model/small_float.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

/// The largest power of two that is not above |x|: 0 for 0 and subnormal numbers, infinite for
/// infinities and NaN.
Tensor power_below(const Tensor& x) {
  if (x.dtype() == f64)
    return bitcast(bitwise_and(bitcast(x, i64), std::int64_t{0x7ff0000000000000}), f64);
  return bitcast(bitwise_and(bitcast(x, i32), 0x7f800000), f32);
}

/// x with the mantissa of the format, where ties become even. Its exponent has no upper limit.
Tensor rounded_to(const SmallFloat& format, const Tensor& x) {
  const double highest = std::exp2(std::floor(std::log2(format.largest)));
  const Tensor power = minimum(maximum(power_below(x), format.smallest_normal()), highest);
  const Tensor unit = power * std::ldexp(1, -format.mantissa_bits);
  return round(x / unit) * unit;
}

/// The floating dtype that has all numbers of x, up to 53 bits of integers.
DType exact_dtype(const Tensor& x) {
  const bool is_long = x.dtype() == f64 || (is_integer(x.dtype()) && size_of(x.dtype()) >= 4);
  return is_long ? f64 : f32;
}

/// A power of two. It is that of x itself, since a number just below one would round to it in f32.
Tensor cast_to_scale(const SmallFloat& format, const Tensor& x, bool saturates,
                     ScaleRounding rounding) {
  const Tensor number = abs(cast(x, exact_dtype(x)));
  constexpr double kSmallest = 0x1p-127;
  const Tensor power = maximum(power_below(number), kSmallest);
  Tensor result = power;
  if (rounding == ScaleRounding::up) result = where(number > power, power * 2, power);
  if (rounding == ScaleRounding::nearest) result = where(number >= power * 1.5, power * 2, power);
  result = saturates ? minimum(result, format.largest)
                     : where(logical_or(result > format.largest, number < kSmallest), kNotANumber,
                             result);
  return where(isnan(number), kNotANumber, result);
}

}  // namespace

ScaleRounding scale_rounding(std::string_view word) {
  if (word == "up") return ScaleRounding::up;
  if (word == "down") return ScaleRounding::down;
  if (word == "nearest") return ScaleRounding::nearest;
  refuse(fmt::format("round_mode is {}; it must be up, down or nearest", shown_name(word)));
}

Tensor cast_to_small_float(const Tensor& x, ElementType type, bool saturates,
                           ScaleRounding rounding) {
  const SmallFloat& format = *small_float(type);
  const DType dtype = *dtype_of(static_cast<std::int32_t>(type));
  if (!format.has_sign) return cast(cast_to_scale(format, x, saturates, rounding), dtype);
  const Tensor rounded = rounded_to(format, cast(x, x.dtype() == f64 ? f64 : f32));
  const bool has_nan = format.nan >= 0;
  Tensor result = minimum(maximum(rounded, -format.largest), format.largest);
  if (!saturates && has_nan) result = where(abs(rounded) > format.largest, kNotANumber, result);
  result = has_nan ? where(eq(result, 0), 0.0, result)  // without a sign
                   : where(isnan(result), -0.0, result);
  return cast(result, dtype);
}

}  // namespace sinter::onnx
