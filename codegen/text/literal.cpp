#include "codegen/text/literal.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/types/casts.h"
#include "ir/types/wide_integer.h"

namespace sinter {

namespace {

std::string parenthesised(std::string text) {
  return text.starts_with('-') ? "(" + text + ")" : text;
}

std::string float_text(float value) {
  if (!std::isfinite(value))
    return fmt::format("as_float(0x{:08x}u)",
                       std::isnan(value) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value));
  return parenthesised(fmt::format("{:#}f", value));
}

std::string double_text(double value) {
  if (!std::isfinite(value))
    return fmt::format("as_double(0x{:016x}ull)", std::isnan(value)
                                                      ? 0x7ff8000000000000ull
                                                      : std::bit_cast<std::uint64_t>(value));
  return parenthesised(fmt::format("{:#}", value));
}

std::string integer_text(std::int64_t value, bool is_long) {
  const std::int64_t lowest =
      is_long ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int32_t>::min();
  const std::string suffix = is_long ? "ll" : "";
  // The lowest number has no literal, because its digits without the sign are out of range.
  if (value == lowest) return fmt::format("({}{} - 1{})", value + 1, suffix, suffix);
  return parenthesised(fmt::format("{}{}", value, suffix));
}

}  // namespace

std::string c_literal(const Literal& literal, DType dtype) {
  switch (dtype) {
    case DType::boolean: return as_real(literal) != 0 ? "true" : "false";
    case DType::i32: return integer_text(literal.integer, false);
    case DType::i64: return integer_text(literal.integer, true);
    case DType::u32: return fmt::format("{}u", literal.integer);
    case DType::u64: return fmt::format("{}ull", decimal_text(literal));
    case DType::i8:
    case DType::i16:
    case DType::u8:
    case DType::u16: return fmt::format("static_cast<{}>({})", info(dtype).c_name, literal.integer);
    case DType::f64: return double_text(as_real(literal));
    case DType::f32:
    case DType::c64: return float_text(static_cast<float>(as_real(literal)));
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::f16:
    case DType::bf16: return float_text(static_cast<float>(round_to(dtype, as_real(literal))));
  }
  return {};
}

}  // namespace sinter
