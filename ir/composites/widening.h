// Halves and integers in functions of several ops: computed in f32, rounded once at the end.
#pragma once

#include "ir/record/record.h"

#include <initializer_list>
#include <string_view>

namespace sinter {

/// The dtypes of one call. It computes in f64 where an operand is f64, else in f32, and gives the
/// floating dtype that the operands have in common; f32 of integers and bool.
class Widening {
 public:
  /// Throws UserError where all operands are numbers, have no dtype in common, or do not broadcast.
  Widening(std::string_view op, std::initializer_list<const Operand*> operands);

  /// `x` in the dtype computed in; a number stays one.
  Operand wide(const Operand& x) const;
  /// `y` rounded to the dtype of the result.
  Tensor narrow(Tensor y) const { return cast(y, result_); }
  DType compute() const { return compute_; }

 private:
  DType result_ = f32;
  DType compute_ = f32;
};

/// `y` as an operand recorded where `beside` is, for messages.
inline Operand placed(Tensor y, const Operand& beside) {
  return {y, beside.location.file, beside.location.line};
}

/// True for the number `value`, not for a Tensor.
inline bool is_number(const Operand& x, double value) {
  return x.is_literal() && as_real(x.literal) == value;
}

}  // namespace sinter
