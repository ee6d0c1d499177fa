#include "ir/library_ops/reference.h"

#include <cmath>
#include <limits>

#include "ir/types/casts.h"
#include "sinter/error.h"

namespace sinter {

LibraryReference library_reference(Op op) {
  switch (op) {
    case Op::matmul: return matmul_reference;
    case Op::conv: return conv_reference;
    case Op::conv_data_gradient: return conv_data_gradient_reference;
    case Op::conv_weight_gradient: return conv_weight_gradient_reference;
    default: throw InternalError("library_reference: this is no library op");
  }
}

namespace {

/// u of the sums.
long double unit_of_sums(DType operand, bool allow_tf32) {
  if (is_f8(operand)) return std::ldexp(1.0L, -13);
  const bool may_truncate = operand == f16 || operand == bf16 || allow_tf32;
  return std::ldexp(1.0L,
                    (may_truncate ? 1 : 0) - info(product_accumulator(operand)).mantissa_bits);
}

}  // namespace

SumOfProducts::SumOfProducts(DType operand, bool allow_tf32)
    : unit_(unit_of_sums(operand, allow_tf32)),
      largest_(largest_finite(product_accumulator(operand))),
      smallest_(ulp_at(product_accumulator(operand), 0)),
      // tf32 has 11 significant bits. Hardware may truncate instead of rounding to nearest.
      operand_rounding_(allow_tf32 ? std::ldexp(1.0L, -10) : 0) {}

void SumOfProducts::add(double x, double x_bound, double y, double y_bound) {
  const long double product = static_cast<long double>(x) * y;
  total_ += product;
  magnitudes_ += std::fabs(product);
  long double dx = x_bound;
  long double dy = y_bound;
  if (operand_rounding_ != 0) {
    dx += std::fabs(x) * operand_rounding_;
    dy += std::fabs(y) * operand_rounding_;
  }
  if (dx != 0 || dy != 0) operand_errors_ += std::fabs(x) * dy + std::fabs(y) * dx + dx * dy;
  ++terms_;
}

double SumOfProducts::bound() const {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  // Infinities and NaN among the operands: the order of the sum does not matter, unless there are
  // errors.
  if (!std::isfinite(total_)) return operand_errors_ == 0 ? 0 : kInfinite;
  const long double most = magnitudes_ + operand_errors_;
  const auto terms = static_cast<long double>(terms_);
  if (terms * unit_ >= 1) return kInfinite;
  const long double relative = terms * unit_ / (1 - terms * unit_);
  if (!(most * (1 + relative) < largest_)) return kInfinite;
  const long double underflow = terms * smallest_;
  return static_cast<double>((operand_errors_ + relative * most + underflow) * (1 + 1e-9L));
}

}  // namespace sinter
