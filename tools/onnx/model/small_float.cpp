#include "tools/onnx/model/small_float.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace sinter::onnx {

namespace {

// The parameters of https://onnx.ai/onnx/technical/float8.html and float4.html. FNUZ types have
// only one zero, whose negative is NaN.
constexpr SmallFloat kSmallFloats[] = {
    {.type = ElementType::f4e2m1, .exponent_bits = 2, .mantissa_bits = 1, .bias = 1, .largest = 6},
    {.type = ElementType::f6e2m3,
     .exponent_bits = 2,
     .mantissa_bits = 3,
     .bias = 1,
     .largest = 7.5},
    {.type = ElementType::f6e3m2, .exponent_bits = 3, .mantissa_bits = 2, .bias = 3, .largest = 28},
    {ElementType::f8e4m3fnuz, true, 4, 3, 8, 240, 0x80},
    {ElementType::f8e5m2fnuz, true, 5, 2, 16, 57344, 0x80},
    {ElementType::f8e8m0, false, 8, 0, 127, 0x1p127, 0xff},
};

}  // namespace

double SmallFloat::smallest_normal() const { return std::ldexp(1, 1 - bias); }

const SmallFloat* small_float(ElementType type) {
  const auto* const found = std::ranges::find(kSmallFloats, type, &SmallFloat::type);
  return found == std::end(kSmallFloats) ? nullptr : found;
}

double small_float_value(const SmallFloat& format, int bits) {
  if (bits == format.nan) return std::numeric_limits<double>::quiet_NaN();
  const int sign_bit = 1 << (format.exponent_bits + format.mantissa_bits);
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = bits >> format.mantissa_bits & ((1 << format.exponent_bits) - 1);
  // f8e8m0 has no mantissa, and therefore no subnormal numbers.
  const bool is_subnormal = exponent == 0 && format.mantissa_bits != 0;
  const int whole = is_subnormal ? mantissa : mantissa + (1 << format.mantissa_bits);
  const double value =
      std::ldexp(whole, (is_subnormal ? 1 : exponent) - format.bias - format.mantissa_bits);
  return format.has_sign && (bits & sign_bit) != 0 ? -value : value;
}

}  // namespace sinter::onnx
