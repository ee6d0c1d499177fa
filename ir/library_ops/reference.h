// The oracle's references of library ops: their results in f64, and bounds for any order of
// accumulation.
#pragma once

#include "ir/ops/op.h"
#include "sinter/opaque.h"

namespace sinter {

using LibraryReference = void (*)(const OpaqueReference& call);

/// The reference of a library op. The results are not rounded to their dtype yet.
LibraryReference library_reference(Op op);

void matmul_reference(const OpaqueReference& call);
void conv_reference(const OpaqueReference& call);
void conv_data_gradient_reference(const OpaqueReference& call);
void conv_weight_gradient_reference(const OpaqueReference& call);

/// The sum of products of one element of a result, and its error bound.
///
/// A device multiplies operands x + dx and y + dy, rounds each product and each sum in the
/// accumulator, in any order. The error of n terms is at most n u / (1 - n u) times the sum of
/// |x y|. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1.
///
/// u is half a unit in the last place of f32 or f64. Tensor cores truncate instead: u is 2^-23 for
/// f16, bf16 and tf32. For f8 it is 2^-13, because those of sm_89 and sm_90 keep 13 fraction bits.
class SumOfProducts {
 public:
  /// For operands of a floating dtype. `allow_tf32`: the device may round each operand to 11
  /// significant bits.
  SumOfProducts(DType operand, bool allow_tf32);
  void add(double x, double x_bound, double y, double y_bound);
  double value() const { return static_cast<double>(total_); }
  /// Infinite if the result may overflow in the accumulator, depends on an undecided operand, or
  /// has too many terms for a bound.
  double bound() const;

 private:
  long double total_ = 0;
  long double magnitudes_ = 0;  ///< the sum of |x y|
  long double operand_errors_ = 0;
  std::int64_t terms_ = 0;
  long double unit_;              ///< unit roundoff of the accumulator
  long double largest_;           ///< its largest finite number
  long double smallest_;          ///< its smallest positive number
  long double operand_rounding_;  ///< relative error of an operand
};

/// The accumulator of products of operands of a floating `dtype`.
inline DType product_accumulator(DType dtype) { return dtype == f64 ? f64 : f32; }

}  // namespace sinter
