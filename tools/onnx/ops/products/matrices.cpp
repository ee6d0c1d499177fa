// Matrix products.
#include "sinter/library_ops.h"
#include "sinter/views.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/op_table.h"
#include "tools/onnx/ops/products/matrix_product.h"
#include "tools/onnx/ops/products/quantized.h"

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

Outputs record_matmul(const Call& call) {
  require_inputs(call, 2, 2);
  require_one_dtype(call);
  return {matrix_product(call.tensor(0), call.tensor(1))};
}

Tensor times(const Tensor& x, double factor) { return factor == 1 ? x : x * factor; }

/// alpha · A · B + beta · C, where A and B may be transposed.
Outputs record_gemm(const Call& call) {
  require_inputs(call, 2, 3);
  require_one_dtype(call);
  if (call.rank(0) != 2 || call.rank(1) != 2)
    refuse(fmt::format("its factors have the ranks {} and {}; they must be matrices", call.rank(0),
                       call.rank(1)));
  const Attributes& attributes = call.attributes();
  if (call.opset() < 7) attributes.ignore("broadcast");  // it broadcasts as later versions do
  const double alpha = attributes.real("alpha", 1);
  const double beta = attributes.real("beta", 1);
  const Tensor product = matrix_product(call.tensor(0), call.tensor(1),
                                        {.transpose_a = attributes.flag("transA", false),
                                         .transpose_b = attributes.flag("transB", false)});
  Tensor y = times(product, alpha);
  if (call.has_input(2) && beta != 0) y = y + times(call.tensor(2), beta);
  return {cast(y, call.dtype(0))};
}

/// The zero point of an operand, aligned with it: a number, or a vector along `axis`. A vector of
/// the left operand has an element per row, so that it gets a last axis.
Tensor aligned_zero(const Tensor& zero, bool is_per_row) {
  if (!zero.node() || zero.rank() == 0) return zero;
  if (zero.rank() == 1 && zero.shape()[0].is(1)) return reshape(zero, Extents());
  return zero.rank() == 1 && is_per_row ? unsqueeze(zero, 1) : zero;
}

Outputs record_matmul_integer(const Call& call) {
  require_inputs(call, 2, 4);
  return {integer_matmul(call.tensor(0), call.tensor(1),
                         {.zero_a = aligned_zero(call.optional_tensor(2), true),
                          .zero_b = aligned_zero(call.optional_tensor(3), false)})};
}

/// Inputs: a, its scale and zero point; the same of b; scale and zero point of the result.
Outputs record_q_linear_matmul(const Call& call) {
  require_inputs(call, 8, 8);
  const auto scale = [&](std::size_t i, bool is_per_row) {
    return aligned_zero(cast(call.tensor(i), f32), is_per_row);
  };
  const Tensor product =
      integer_matmul(call.tensor(0), call.tensor(3),
                     {.zero_a = aligned_zero(call.tensor(2), true),
                      .zero_b = aligned_zero(call.tensor(5), false)});
  const Tensor factor = scale(1, true) * scale(4, false) / scale(6, true);
  return {
      to_quantized(cast(product, f32) * factor, aligned_zero(call.tensor(7), true), call.dtype(7))};
}

constexpr OpRow kMatrices[] = {
    {"Gemm", record_gemm},
    {"MatMul", record_matmul},
    {"MatMulInteger", record_matmul_integer},
    {"QLinearMatMul", record_q_linear_matmul},
};

}  // namespace

std::span<const OpRow> matrix_ops() { return kMatrices; }

}  // namespace sinter::onnx
