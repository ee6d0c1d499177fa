#include "tests/virtual_gpu/program/combine.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "tests/virtual_gpu/isa/float_arithmetic.h"
#include "tests/virtual_gpu/isa/half_floats.h"

namespace sinter::virtual_gpu {

namespace {

// ---- Integers ----

/// An operation on T, which is unsigned for all but minima and maxima.
template <class T, T (*F)(T, T)>
std::uint64_t combine_as(std::uint64_t old, std::uint64_t operand) {
  return static_cast<std::uint64_t>(F(static_cast<T>(old), static_cast<T>(operand)));
}
template <class T>
T sum(T a, T b) {
  return static_cast<T>(a + b);
}
template <class T>
T lesser(T a, T b) {
  return std::min(a, b);
}
template <class T>
T greater(T a, T b) {
  return std::max(a, b);
}
template <class T>
T bits_of_both(T a, T b) {
  return a & b;
}
template <class T>
T bits_of_any(T a, T b) {
  return a | b;
}
template <class T>
T bits_of_one(T a, T b) {
  return a ^ b;
}
template <class T>
T exchanged(T, T b) {
  return b;
}
template <class T>
T incremented(T a, T b) {
  return a >= b ? T{0} : static_cast<T>(a + 1);
}
template <class T>
T decremented(T a, T b) {
  return a == 0 || a > b ? b : static_cast<T>(a - 1);
}

template <class T>
Combine integer_combine(std::string_view operation) {
  using U = std::make_unsigned_t<T>;
  if (operation == "add") return combine_as<U, sum<U>>;
  if (operation == "min") return combine_as<T, lesser<T>>;
  if (operation == "max") return combine_as<T, greater<T>>;
  if (operation == "and") return combine_as<U, bits_of_both<U>>;
  if (operation == "or") return combine_as<U, bits_of_any<U>>;
  if (operation == "xor") return combine_as<U, bits_of_one<U>>;
  if (operation == "exch") return combine_as<U, exchanged<U>>;
  if (operation == "inc") return combine_as<U, incremented<U>>;
  if (operation == "dec") return combine_as<U, decremented<U>>;
  return nullptr;
}

Combine find_integer(std::string_view operation, std::string_view type) {
  if (type == "u32" || type == "b32") return integer_combine<std::uint32_t>(operation);
  if (type == "s32") return integer_combine<std::int32_t>(operation);
  if (type == "u64" || type == "b64") return integer_combine<std::uint64_t>(operation);
  if (type == "s64") return integer_combine<std::int64_t>(operation);
  return nullptr;
}

// ---- Floats ----

/// Sums round to nearest even. On global memory, f32 sums flush subnormal operands and results.
template <Modifiers kModifiers>
std::uint64_t add_floats(std::uint64_t old, std::uint64_t operand) {
  const auto value = [](std::uint64_t bits) {
    return flushed<kModifiers>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  };
  const float a = value(old), b = value(operand);
  return std::bit_cast<std::uint32_t>(finished<kModifiers>(a + b, a, b));
}
constexpr Modifiers kFlushes{.ftz = true};

std::uint64_t add_doubles(std::uint64_t old, std::uint64_t operand) {
  const auto a = std::bit_cast<double>(old), b = std::bit_cast<double>(operand);
  return std::bit_cast<std::uint64_t>(finished<Modifiers{}>(a + b, a, b));
}

template <class T>
T add_half(double a, double b) {
  return encode_half<T>(sum_to_odd<Rounding::nearest_even>(a, b));
}
/// The manual defines no order of zeros and NaNs for atomics; it is that of min and max.
template <class T, bool kIsMaximum>
T half_extremum(double a, double b) {
  return encode_half<T>(extremum<Modifiers{}, kIsMaximum>(a, b));
}

/// A function of halves on each half word of an element.
template <class T, T (*F)(double, double), int kHalves>
std::uint64_t on_halves(std::uint64_t old, std::uint64_t operand) {
  std::uint64_t result = 0;
  for (int shift = 0; shift < 16 * kHalves; shift += 16) {
    const auto value = [&](std::uint64_t bits) {
      return decode(T{static_cast<std::uint16_t>(bits >> shift)});
    };
    result |= std::uint64_t{F(value(old), value(operand)).bits} << shift;
  }
  return result;
}

template <class T, int kHalves>
Combine half_combine(std::string_view operation, bool is_vector) {
  if (operation == "add") return on_halves<T, add_half<T>, kHalves>;
  if (!is_vector) return nullptr;  // the scalar forms have sums only
  if (operation == "min") return on_halves<T, half_extremum<T, false>, kHalves>;
  if (operation == "max") return on_halves<T, half_extremum<T, true>, kHalves>;
  return nullptr;
}

Combine find_half(std::string_view operation, std::string_view type, int vector_length) {
  const bool is_vector = vector_length > 1;
  if (type == "f16") return half_combine<Half, 1>(operation, is_vector);
  if (type == "bf16") return half_combine<Bfloat, 1>(operation, is_vector);
  if (vector_length > 4) return nullptr;
  if (type == "f16x2") return half_combine<Half, 2>(operation, is_vector);
  if (type == "bf16x2") return half_combine<Bfloat, 2>(operation, is_vector);
  return nullptr;
}

}  // namespace

std::optional<AtomicFunctions> find_combine(std::string_view operation, std::string_view type,
                                            int vector_length, bool is_noftz) {
  const auto same = [](Combine function) -> std::optional<AtomicFunctions> {
    if (!function) return std::nullopt;
    return AtomicFunctions{.global = function, .shared = function};
  };
  if (is_noftz) return same(find_half(operation, type, vector_length));
  if (type == "f32" && operation == "add" && vector_length <= 4)
    return AtomicFunctions{.global = add_floats<kFlushes>, .shared = add_floats<Modifiers{}>};
  if (vector_length > 1) return std::nullopt;
  if (type == "f64" && operation == "add") return same(add_doubles);
  return same(find_integer(operation, type));
}

}  // namespace sinter::virtual_gpu
