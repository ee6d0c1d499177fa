// Builds a table of vjp functions from the vjp column of ops.def.
#include "ir/autodiff/op_vjp.h"

#include "ir/autodiff/reduction_vjp.h"
#include "ir/autodiff/scan_vjp.h"
#include "ir/record/record.h"
#include "sinter/ops.h"

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
/// True if fmax(a, b) returns a: if a > b, or if b is NaN. Of equal operands fmax returns b.
Tensor is_larger(Tensor a, Tensor b) {
  const Tensor is_above = gt(a, b);
  const Tensor is_alone = isnan(b);
  return logical_or(is_above, is_alone);
}
/// True if fmin(a, b) returns a: if a < b, or if b is NaN.
Tensor is_smaller(Tensor a, Tensor b) {
  const Tensor is_below = lt(a, b);
  const Tensor is_alone = isnan(b);
  return logical_or(is_below, is_alone);
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
    const Tensor x = operands[0];                                                                           \
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
