#include "tools/onnx/ops/products/quantized.h"

#include "ir/record/record.h"
#include "sinter/library_ops.h"
#include "tools/onnx/node/call.h"
#include "tools/onnx/node/limits.h"

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// An operand in i8, and its zero point in i32. Both are lower by 128 for u8.
struct SignedOperand {
  Tensor value;
  Tensor zero;  ///< empty: 0
};

SignedOperand as_signed(Graph& graph, const Tensor& x, const Tensor& zero) {
  if (x.dtype() != i8 && x.dtype() != u8)
    refuse(fmt::format("a quantised factor is {}; it must be i8 or u8", name(x.dtype())));
  const Tensor wide_zero = zero.node() ? cast(zero, i32) : Tensor();
  if (x.dtype() == i8) return {.value = x, .zero = wide_zero};
  constexpr int kShift = 128;
  return {.value = cast(cast(x, i32) - kShift, i8),
          .zero = wide_zero.node() ? wide_zero - kShift : full(graph, {}, -kShift, i32)};
}

Tensor sum_in_i32(const Tensor& x, std::int64_t axis) {
  return cast(sum(cast(x, i32), {axis}, keep), i32);
}

Tensor size_in_i32(Graph& graph, Extent extent) {
  if (extent.is_number()) return full(graph, {}, extent.number(), i32);
  return record_size(graph.data(), extent, i32, /*location=*/{});
}

}  // namespace

Tensor to_quantized(const Tensor& quotient, const Tensor& zero_point, DType dtype) {
  Tensor moved = round(quotient);
  if (zero_point.node()) moved = moved + cast(zero_point, moved.dtype());
  const auto real = [](const Literal& bound) { return static_cast<double>(bound.integer); };
  return cast(minimum(maximum(moved, real(lowest_value(dtype))), real(highest_value(dtype))),
              dtype);
}

Tensor quantized_product(Graph& graph, const Tensor& a, const Tensor& zero_a, const Tensor& b,
                         const Tensor& zero_b) {
  // Σ (a − p)(b − q) = Σ ab − q Σ a − p Σ b + n p q over the n common elements.
  const SignedOperand left = as_signed(graph, a, zero_a);
  const SignedOperand right = as_signed(graph, b, zero_b);
  Tensor result = matmul(left.value, right.value);
  if (right.zero.node()) result = result - sum_in_i32(left.value, -1) * right.zero;
  if (left.zero.node()) result = result - left.zero * sum_in_i32(right.value, -2);
  if (left.zero.node() && right.zero.node())
    result = result + left.zero * right.zero * size_in_i32(graph, a.shape().back());
  return result;
}

}  // namespace sinter::onnx
