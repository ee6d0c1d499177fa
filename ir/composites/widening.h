// Lets composites of halves and integers compute in f32 and round once at the end.
#pragma once

#include "ir/record/record.h"

#include <initializer_list>
#include <string_view>

namespace sinter {

/// The dtypes of one call. The compute dtype is f64 if an operand is f64, else f32. The result has
/// the common floating dtype of the operands; f32 if they are integers or bool.
class Widening {
 public:
  /// Throws UserError if all operands are literals, have no common dtype, or do not broadcast.
  Widening(std::string_view op, std::initializer_list<const Operand*> operands);

  /// `x` cast to the compute dtype; a literal is unchanged.
  Operand wide(const Operand& x) const;
  /// `y` cast to the result dtype.
  Tensor narrow(Tensor y) const { return cast(y, result_); }
  DType compute() const { return compute_; }

 private:
  DType result_ = f32;
  DType compute_ = f32;
};

/// `y` as an operand with the source location of `like`, for messages.
inline Operand with_location(Tensor y, const Operand& like) {
  return {y, like.location.file, like.location.line};
}

/// True if `x` is the literal `value`; false for a Tensor.
inline bool is_number(const Operand& x, double value) {
  return x.is_literal() && as_real(x.literal) == value;
}

}  // namespace sinter
