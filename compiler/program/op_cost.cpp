#include "compiler/program/op_cost.h"

namespace sinter {

int instructions_of(Op op) {
  switch (op) {
    case Op::lgamma:
    case Op::digamma: return 150;
    case Op::pow:
    case Op::philox: return 60;
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::atan2:
    case Op::hypot:
    case Op::cbrt:
    case Op::fmod:
    case Op::remainder:
    case Op::floordiv:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::tanh:
    case Op::erf:
    case Op::erfc:
    case Op::erfinv: return 30;
    case Op::expm1:
    case Op::log1p: return 20;
    case Op::exp:
    case Op::exp2:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::div:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::nextafter: return 12;
    case Op::logsumexp: return 9;
    case Op::maximum:
    case Op::minimum: return 3;
    default: return 1;
  }
}

double bytes_of(Extent elements, DType dtype, const Facts& facts) {
  return static_cast<double>(evaluate(elements, facts.symbols)) * size_of(dtype);
}

bool has_narrow_index(const Node& reduction) {
  constexpr std::int64_t kMost = INT32_MAX;
  std::int64_t elements = 1;
  for (const std::int64_t axis : reduced_axes(reduction)) {
    const Extent extent = reduction.operand(0)->shape[static_cast<std::size_t>(axis)];
    if (!extent.is_number() || extent.number() > kMost) return false;
    elements *= extent.number();
    if (elements > kMost) return false;
  }
  return true;
}

int state_bytes(const Node& reduction) {
  const int size = size_of(info(reduction.operand(0)->dtype).compute);
  switch (reduction.op) {
    case Op::argmax:
    case Op::argmin: return size <= 4 && has_narrow_index(reduction) ? 8 : 16;
    case Op::welford: return 3 * size;
    case Op::logsumexp: return 2 * size;
    default: return size;
  }
}

}  // namespace sinter
