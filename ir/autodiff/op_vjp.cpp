// Builds a table of vjp functions from the vjp column of ops.def.
#include "ir/autodiff/op_vjp.h"

#include "ir/autodiff/library_vjp.h"
#include "ir/autodiff/reduction_vjp.h"
#include "ir/record/index_operands.h"
#include "sinter/views.h"

namespace sinter {

namespace {

// These helpers record their operands in separate statements. A C++ compiler may evaluate the
// operands of one expression in any order, and the recording order must not depend on the compiler.
Tensor sum_of_squares(Tensor a, Tensor b) {
  const Tensor first = a * a;
  const Tensor second = b * b;
  return first + second;
}
/// 1 if a and b have equal signs, else -1; 0 if a is 0.
Tensor signs_product(Tensor a, Tensor b) {
  const Tensor sign_of_b = copysign(1, b);
  return sign(a) * sign_of_b;
}
/// True if fmax or fmin returns a: if a `exceeds` b, or if b is NaN. Of equal operands it returns
/// b.
Tensor selects_first(Tensor exceeds, Tensor b) {
  const Tensor is_alone = isnan(b);
  return logical_or(exceeds, is_alone);
}

Tensor reverse_cumsum(Tensor g, int axis) { return cumsum(g, axis, {.reverse = true}); }

/// Exact also if elements of x are 0.
Tensor cumprod_vjp(Tensor x, Tensor y, Tensor g, int axis) {
  const Tensor is_zero = eq(x, 0);
  const Tensor zeros = cumsum(is_zero, axis);
  const Tensor usable = where(is_zero, 1, x);
  // Elements before the first zero; from the first zero on, y is 0.
  const Tensor before = reverse_cumsum(g * y, axis) / usable;
  // The first zero uses the products in which it is replaced by 1.
  const Tensor is_first = logical_and(is_zero, eq(zeros, 1));
  const Tensor without = cumprod(where(is_first, 1, x), axis);
  const Tensor at_first = reverse_cumsum(g * without, axis);
  const Tensor from_first = where(is_first, at_first, 0);
  return where(eq(zeros, 0), before, from_first);
}

/// The vjp of cummax and cummin. The first of equal extremes gets the sum of the cotangents of all
/// results that equal it.
Tensor extreme_scan_vjp(Tensor x, Tensor y, Tensor g, int axis) {
  const Op op = y.node()->op;
  const Tensor before = record_scan(op, x, axis, {.exclusive = true});
  // The extreme changes where x exceeds it, and at the first NaN: no comparison with NaN is true.
  const Tensor exceeds = op == Op::cummax ? gt(x, before) : lt(x, before);
  const Tensor was_number = logical_not(isnan(before));
  const Tensor first_nan = logical_and(isnan(x), was_number);
  const Tensor is_new = logical_or(exceeds, first_nan);
  // Adds g at each position to the cotangent of the last position so far at which it changed.
  GraphData& data = *x.graph();
  const Tensor index =
      indices_along(data, x.shape(), static_cast<std::size_t>(axis), data.location(x.node()));
  const Tensor leader = cummax(where(is_new, index, 0), axis);
  return scatter_add(zeros_like(x), axis, leader, g);
}

// clang-format off
// Each reduction's formula is evaluated in a subclass of ReductionVjp, so it can call the members.
#define REDUCTION(NAME, TYPES, STATE, VJP, DOC)                                                             \
  struct VjpOf_##NAME : ReductionVjp {                                                                   \
    using ReductionVjp::ReductionVjp;                                                                         \
    Tensor apply([[maybe_unused]] Tensor x, [[maybe_unused]] Tensor g) const { return VJP; }                \
    static std::vector<Tensor> vjp(std::span<const Tensor> operands, Tensor y, Tensor g) {                  \
      return {VjpOf_##NAME(operands[0], y).apply(operands[0], g)};                                      \
    }                                                                                                       \
  };
#include "sinter/ops.def"

#define SCAN(NAME, TYPES, STATE, VJP, DOC)                                                                  \
  std::vector<Tensor> vjp_of_##NAME(std::span<const Tensor> operands, Tensor y, Tensor g) {                 \
    [[maybe_unused]] const Tensor x = operands[0];                                                          \
    const auto axis = static_cast<int>(attribute(*y.node(), "axis").integer);                               \
    return {VJP};                                                                                           \
  }
#include "sinter/ops.def"

#define OPERANDS1 [[maybe_unused]] const Tensor a = operands[0];
#define OPERANDS2 OPERANDS1 [[maybe_unused]] const Tensor b = operands[1];
#define OPERANDS3 OPERANDS2 [[maybe_unused]] const Tensor c = operands[2];
#define LIST(...) {__VA_ARGS__}
#define ROW(ARITY, NAME, TYPES, TRAITS, INPUTS, CUDA, CUDA_INTEGER, FAST, HOST, HOST_INTEGER, VJP, ULP, DOC)      \
  [](std::span<const Tensor> operands, [[maybe_unused]] Tensor y, Tensor g) {                               \
    OPERANDS##ARITY                                                                                         \
    [[maybe_unused]] const Tensor zero = zeros_like(g);                                                     \
    const Tensor cotangents[] = LIST VJP;                                                                   \
    static_assert(std::size(cotangents) == ARITY, #NAME ": one cotangent per operand");                     \
    return std::vector<Tensor>(std::begin(cotangents), std::end(cotangents)); },
#define UNARY(...) ROW(1, __VA_ARGS__)
#define BINARY(...) ROW(2, __VA_ARGS__)
#define TERNARY(...) ROW(3, __VA_ARGS__)
#define REDUCTION(NAME, ...) &VjpOf_##NAME::vjp,
#define SCAN(NAME, ...) &vjp_of_##NAME,
#define STRUCTURAL(NAME, ...) nullptr,
#define CUSTOM(NAME, ...) nullptr,
#define SOURCE(NAME, ...) nullptr,
#define OPAQUE(NAME, ...) nullptr,
#define LIBRARY(NAME, ...) &NAME##_vjp,

/// Indexed by op, in the order of the table.
constexpr OpVjp kVjps[] = {
#include "sinter/ops.def"
};
#undef ROW
#undef LIST
#undef OPERANDS1
#undef OPERANDS2
#undef OPERANDS3
// clang-format on

}  // namespace

OpVjp vjp_of(Op op) { return kVjps[static_cast<std::size_t>(op)]; }

}  // namespace sinter
