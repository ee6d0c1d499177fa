// Casts, quantisation and dequantisation.
#include "tools/onnx/model/element_type.h"
#include "tools/onnx/model/small_float.h"
#include "tools/onnx/node/element_type_attribute.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/node/positions.h"
#include "tools/onnx/ops/math/small_float_casts.h"
#include "tools/onnx/ops/op_table.h"

#include <limits>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

constexpr double kLargestF8E5M2 = 57344;
constexpr double kLargestF8E4M3 = 448;
/// Numbers above round to a number that the dtype does not have. The one of f8e5m2 rounds up, too.
constexpr double kLastToF8E4M3 = 464;
constexpr double kFirstAboveF8E5M2 = 61440;

/// A cast to f8. With saturation, numbers beyond the range and infinities become the largest
/// number. Without, they become infinite, or NaN in f8e4m3, which has no infinity.
Tensor cast_to_f8(const Tensor& x, DType to, bool saturates) {
  const Tensor real = cast(x, x.dtype() == f64 ? f64 : f32);
  const double largest = to == f8e5m2 ? kLargestF8E5M2 : kLargestF8E4M3;
  const Tensor inside = cast(minimum(maximum(real, -largest), largest), to);
  if (saturates) return inside;
  if (to == f8e4m3)
    return cast(where(abs(real) > kLastToF8E4M3, std::numeric_limits<double>::quiet_NaN(), real),
                to);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor infinite = where(real < 0, -kInfinity, where(real > 0, kInfinity, real));
  return cast(where(abs(real) >= kFirstAboveF8E5M2, infinite, real), to);
}

/// The bits of the integers of an element type.
int integer_bits(const ElementTarget& type) {
  const int bits = narrow_bits(static_cast<std::int32_t>(type.narrow));
  return bits != 0 ? bits : 8 * size_of(type.dtype);
}

/// The lowest bits of whole numbers, as in every cast to a smaller integer.
Tensor cast_to_packed(const Tensor& x, const ElementTarget& to) {
  const int sign = 1 << (integer_bits(to) - 1);
  const Tensor low = bitwise_and(cast(x, i32), 2 * sign - 1);
  return cast(is_signed(to.dtype) ? bitwise_xor(low, sign) - sign : low, to.dtype);
}

Tensor cast_as_onnx(const Call& call, const ElementTarget& target) {
  const Tensor x = call.tensor(0);
  const DType to = target.dtype;
  const bool saturates = call.attributes().flag("saturate", true);
  const std::string mode = call.attributes().text("round_mode", "up");
  if (x.dtype() == to && call.narrow(0) == target.narrow) return x;
  if (small_float(target.narrow))
    return cast_to_small_float(x, target.narrow, saturates, scale_rounding(mode));
  if (target.narrow != ElementType::undefined) return cast_to_packed(x, target);
  if (x.dtype() == to) return x;
  if (to == boolean) return ne(x, 0);  // NaN is true
  return is_f8(to) ? cast_to_f8(x, to, saturates) : cast(x, to);
}

Outputs record_cast(const Call& call) {
  require_inputs(call, 1, 1);
  return {cast_as_onnx(call, element_named(call, "to"))};
}

Outputs record_cast_like(const Call& call) {
  require_inputs(call, 2, 2);
  return {cast_as_onnx(call, {.dtype = call.dtype(1), .narrow = call.narrow(1)})};
}

Outputs record_bit_cast(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  if (call.narrow(0) != ElementType::undefined)
    refuse(fmt::format("its input is {}, whose bits sinter does not keep",
                       element_type_name(call.narrow(0))));
  // A bool is a byte of 0 or 1.
  const Tensor bits = x.dtype() == boolean ? cast(x, u8) : x;
  return {bitcast(bits, dtype_named(call, "to"))};
}

/// A scale or zero point, broadcast to x: a number, a vector along `axis`, or blocks along it.
Tensor spread_over(const Call& call, const Tensor& x, const Tensor& scale) {
  const std::int64_t block = call.attributes().integer("block_size", 0);
  const std::int64_t wanted = call.attributes().integer("axis", 1);
  if (scale.rank() == 0 || (scale.rank() == 1 && scale.shape()[0].is(1))) return reshape(scale, {});
  const int axis = checked_axis(wanted, x.rank());
  if (block == 0) {
    if (scale.rank() != 1)
      refuse(fmt::format("a scale has rank {}; without block_size it must be a number or a vector",
                         scale.rank()));
    return aligned_to_axis(scale, axis, x.rank());
  }
  if (block < 1 || scale.rank() != x.rank())
    refuse(fmt::format("block_size is {} and a scale has rank {}; it must have rank {}", block,
                       scale.rank(), x.rank()));
  // Each element of the scale covers `block` elements of x; the last block may be smaller.
  const auto at = static_cast<std::size_t>(axis);
  std::vector<Extent> apart(scale.shape().begin(), scale.shape().end());
  std::vector<Extent> merged = apart;
  apart.insert(apart.begin() + axis + 1, Extent(1));
  std::vector<Extent> repeated = apart;
  repeated[at + 1] = block;
  merged[at] = merged[at] * block;
  const Tensor all = reshape(broadcast_to(reshape(scale, apart), repeated), merged);
  return slice(all, axis, 0, x.shape()[at]);
}

struct QuantizedRange {
  double low = 0;
  double high = 0;
};

QuantizedRange quantized_range(const ElementTarget& target) {
  const DType dtype = target.dtype;
  const double count = static_cast<double>(std::uint64_t{1} << integer_bits(target));
  return is_signed(dtype) ? QuantizedRange{-count / 2, count / 2 - 1}
                          : QuantizedRange{0, count - 1};
}

ElementTarget quantized_target(const Call& call) {
  const std::int64_t given = call.attributes().integer("output_dtype", 0);
  if (call.has_input(2)) return {.dtype = call.dtype(2), .narrow = call.narrow(2)};
  return given == 0 ? ElementTarget{.dtype = u8} : element_named(call, "output_dtype");
}

void check_quantized(const ElementTarget& target) {
  const DType dtype = target.dtype;
  const bool is_small_integer = is_integer(dtype) && size_of(dtype) <= 2;
  if (!is_small_integer && !is_f8(dtype) && !small_float(target.narrow))
    refuse(
        fmt::format("its output is {}; sinter quantises to integers of up to 16 bits, and to "
                    "floats of up to 8 bits",
                    name(dtype)));
}

Outputs record_quantize(const Call& call) {
  require_inputs(call, 2, 3);
  const Tensor x = call.tensor(0);
  const ElementTarget target = quantized_target(call);
  const DType dtype = target.dtype;
  check_quantized(target);
  const bool saturates = call.attributes().flag("saturate", true);
  if (call.attributes().integer("precision", 0) != 0) refuse("precision is not 0");
  const DType wide = x.dtype() == f64 ? f64 : f32;
  const Tensor scale = spread_over(call, x, cast(call.tensor(1), wide));
  const Tensor scaled = cast(x, wide) / scale;
  if (small_float(target.narrow))
    return {cast_to_small_float(scaled, target.narrow, saturates, ScaleRounding::up)};
  if (is_f8(dtype)) return {cast_to_f8(scaled, dtype, saturates)};
  Tensor moved = round(scaled);
  if (call.has_input(2)) moved = moved + spread_over(call, x, cast(call.tensor(2), wide));
  const QuantizedRange range = quantized_range(target);
  return {cast(minimum(maximum(moved, range.low), range.high), dtype)};
}

Outputs record_dequantize(const Call& call) {
  require_inputs(call, 2, 3);
  const Tensor x = call.tensor(0);
  const Tensor scale = call.tensor(1);
  const DType dtype =
      call.attributes().has("output_dtype") && call.attributes().integer("output_dtype", 0) != 0
          ? dtype_named(call, "output_dtype")
          : scale.dtype();
  Tensor number = x;
  if (call.has_input(2)) {
    const DType wide = is_floating(x.dtype()) ? f32 : size_of(x.dtype()) < 4 ? i32 : i64;
    number = cast(x, wide) - spread_over(call, x, cast(call.tensor(2), wide));
  }
  return {cast(cast(number, f32) * spread_over(call, x, cast(scale, f32)), dtype)};
}

/// Quantises to u8 with the range of x, which is extended to contain 0.
Outputs record_dynamic_quantize(const Call& call) {
  require_inputs(call, 1, 1);
  const Tensor x = call.tensor(0);
  const Tensor low = minimum(min(x), 0.0);
  const Tensor high = maximum(max(x), 0.0);
  const Tensor scale = (high - low) / 255.0;
  const Tensor zero_point = round(minimum(maximum(-low / scale, 0.0), 255.0));
  const Tensor y = minimum(maximum(round(x / scale) + zero_point, 0.0), 255.0);
  return {cast(y, u8), scale, cast(zero_point, u8)};
}

constexpr OpRow kCasts[] = {
    {"BitCast", record_bit_cast},
    {"Cast", record_cast},
    {"CastLike", record_cast_like},
    {"DequantizeLinear", record_dequantize},
    {"DynamicQuantizeLinear", record_dynamic_quantize},
    {"QuantizeLinear", record_quantize},
};

}  // namespace

std::span<const OpRow> cast_ops() { return kCasts; }

}  // namespace sinter::onnx
