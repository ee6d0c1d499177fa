// Lets composites of halves and integers compute in f32 and round once at the end.
#pragma once

#include "ir/record/composite.h"
#include "ir/record/record.h"

#include <concepts>
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

/// True if `x` is the literal `value`; false for a Tensor.
inline bool is_number(const Operand& x, double value) {
  return x.is_literal() && as_real(x.literal) == value;
}

/// A composite of one operand: `formula` of x in the compute dtype, rounded once at the end.
/// The LocationScope gives its nodes the location of the user's call.
template <std::invocable<const Operand&> Formula>
Tensor compute_wide(std::string_view op, const Operand& x, const Formula& formula) {
  const LocationScope scope(x);
  const Widening to(op, {&x});
  return to.narrow(formula(to.wide(x)));
}

}  // namespace sinter
