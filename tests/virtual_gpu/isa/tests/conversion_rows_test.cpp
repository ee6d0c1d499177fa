// Compares every row of cvt between scalar types with an oracle, on special and random values.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/virtual_gpu/isa/tests/float_oracle.h"
#include "tests/virtual_gpu/isa/tests/warp_runner.h"

namespace sinter::virtual_gpu::conversion_rows_test {
namespace {

using float_oracle::Format;
using float_oracle::integer_near;
using float_oracle::kBfloat;
using float_oracle::kDouble;
using float_oracle::kHalf;
using float_oracle::kSingle;
using float_oracle::round_to;
using float_oracle::value_of;

struct Type {
  std::string_view name;
  int bits;
  bool is_signed = false;
  std::optional<Format> format = std::nullopt;
};
constexpr Type kTypes[] = {
    {"u8", 8},
    {"u16", 16},
    {"u32", 32},
    {"u64", 64},
    {"s8", 8, true},
    {"s16", 16, true},
    {"s32", 32, true},
    {"s64", 64, true},
    {"f16", 16, true, kHalf},
    {"bf16", 16, true, kBfloat},
    {"f32", 32, true, kSingle},
    {"f64", 64, true, kDouble},
};
const Type* find_type(std::string_view name) {
  for (const Type& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

std::uint64_t low_bits(std::uint64_t value, int bits) {
  return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}
/// The register of a result: signed integers are extended by their sign to 32 bits.
std::uint64_t to_register(const Type& type, std::uint64_t value) {
  value = low_bits(value, type.bits);
  const bool is_negative = (value >> (type.bits - 1)) != 0;
  if (type.format || !type.is_signed || type.bits >= 32 || !is_negative) return value;
  return value | (0xffffffffu << type.bits & 0xffffffffu);
}

long double integer_value(const Type& type, std::uint64_t bits) {
  bits = low_bits(bits, type.bits);
  if (!type.is_signed) return static_cast<long double>(bits);
  const auto shift = static_cast<unsigned>(64 - type.bits);
  return static_cast<long double>(static_cast<std::int64_t>(bits << shift) >> shift);
}
std::uint64_t integer_bits(long double value) {
  if (value < 0) return ~static_cast<std::uint64_t>(-value) + 1;
  return static_cast<std::uint64_t>(value);
}

struct Conversion {
  const Type* to;
  const Type* from;
  std::string rounding;
  std::set<std::string> modifiers = {};
  bool has(const char* modifier) const { return modifiers.contains(modifier); }
};
/// Nullopt for the conversions of pairs.
std::optional<Conversion> parse(std::string_view opcode) {
  if (opcode.starts_with("cvt.pack")) return std::nullopt;
  std::vector<std::string> parts;
  for (std::string_view rest = opcode;;) {
    const std::size_t dot = rest.find('.');
    parts.emplace_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  Conversion result{
      .to = find_type(parts[parts.size() - 2]), .from = find_type(parts.back()), .rounding = ""};
  if (!result.to || !result.from) return std::nullopt;
  for (std::size_t i = 1; i + 2 < parts.size(); ++i) {
    if (parts[i].starts_with("r") && parts[i] != "relu")
      result.rounding = parts[i];
    else
      result.modifiers.insert(parts[i]);
  }
  return result;
}

long double source_value(const Conversion& conversion, std::uint64_t bits) {
  const Type& from = *conversion.from;
  if (!from.format) return integer_value(from, bits);
  const long double value = value_of(*from.format, bits);
  const bool is_flushed = conversion.has("ftz") && from.name == "f32" && kSingle.is_subnormal(bits);
  return is_flushed ? std::copysign(0.0L, value) : value;
}

/// Section 9.7.9.21, "Integer Notes", for NaN and for numbers beyond the range.
std::uint64_t expected_integer(const Conversion& conversion, std::uint64_t bits) {
  const Type& to = *conversion.to;
  const Type& from = *conversion.from;
  const bool clamps = from.format || conversion.has("sat");
  if (!clamps) return integer_bits(integer_value(from, bits));
  long double value = source_value(conversion, bits);
  if (std::isnan(value))
    return from.bits == 64 || to.bits == 64 ? std::uint64_t{1} << (to.bits - 1) : 0;
  value = integer_near(value, conversion.rounding);
  const long double end = std::ldexp(1.0L, to.is_signed ? to.bits - 1 : to.bits);
  return integer_bits(std::fmin(std::fmax(value, to.is_signed ? -end : 0.0L), end - 1));
}

std::uint64_t expected_nan(const Conversion& conversion, std::uint64_t bits) {
  const std::string_view to = conversion.to->name, from = conversion.from->name;
  if (conversion.has("sat")) return 0;
  if (conversion.to->bits == 16) return 0x7fff;
  if (to == "f64" && from == "f64") return bits | 0x0008000000000000u;
  if (to == "f64" && from == "f32")
    return (bits & 0x80000000u) << 32 | 0x7ff8000000000000u | (bits & 0x3fffffu) << 29;
  if (to == "f64") return 0x7fffffffe0000000u;
  if (from == "f64") return (bits >> 32 & 0x80000000u) | 0x7fc00000u | (bits >> 29 & 0x3fffffu);
  return 0x7fffffffu;
}

std::uint64_t expected_float(const Conversion& conversion, std::uint64_t bits) {
  const Format& to = *conversion.to->format;
  long double value = source_value(conversion, bits);
  if (std::isnan(value)) return expected_nan(conversion, bits);
  if (conversion.rounding.ends_with("i")) value = integer_near(value, conversion.rounding);
  if (conversion.has("sat")) value = value > 1 ? 1.0L : value > 0 ? value : 0.0L;
  if (conversion.has("relu") && std::signbit(value)) value = 0;
  std::uint64_t result = round_to(to, value, conversion.rounding);
  if (conversion.has("satfinite") && (result & (to.sign() - 1)) == to.infinity()) --result;
  if (conversion.has("ftz") && conversion.to->name == "f32" && to.is_subnormal(result))
    result &= to.sign();
  return result;
}

std::vector<std::uint64_t> sources(const Type& type) {
  if (type.format) {
    std::vector<std::uint64_t> values = float_oracle::special_values(*type.format);
    const auto more = float_oracle::random_values(*type.format, 200, 7);
    values.insert(values.end(), more.begin(), more.end());
    return values;
  }
  std::vector<std::uint64_t> values;
  for (int bit = 0; bit < type.bits; ++bit)
    for (const int distance : {-2, -1, 0, 1, 2, 3}) {
      const std::uint64_t power = std::uint64_t{1} << bit;
      values.push_back(power + static_cast<std::uint64_t>(distance));
      values.push_back(~power + static_cast<std::uint64_t>(distance));
      values.push_back(power + power / 2 + static_cast<std::uint64_t>(distance));
      values.push_back(power + (power >> 24) + static_cast<std::uint64_t>(distance));
      values.push_back(power + (power >> 53) + static_cast<std::uint64_t>(distance));
    }
  return values;
}

/// Source values with arbitrary bits above those of the type.
std::vector<std::uint64_t> registers_of(const Type& type) {
  std::vector<std::uint64_t> registers = sources(type);
  for (std::uint64_t& value : registers) {
    value = low_bits(value, type.bits);
    if (type.bits < 32) value |= 0x5a5a5a5au << type.bits & 0xffffffffu;
  }
  return registers;
}

TEST(ConversionRows, AgreeWithTheOracle) {
  int rows = 0;
  for (const Semantics& row : conversion_semantics()) {
    const std::optional<Conversion> conversion = parse(row.opcode);
    if (!conversion) continue;
    ++rows;
    const auto expected = [&](std::uint64_t bits) {
      bits = low_bits(bits, conversion->from->bits);
      const std::uint64_t value = conversion->to->format ? expected_float(*conversion, bits)
                                                         : expected_integer(*conversion, bits);
      return to_register(*conversion->to, value);
    };
    expect_results(row.opcode, expected, registers_of(*conversion->from));
  }
  EXPECT_EQ(rows, 516);
}

}  // namespace
}  // namespace sinter::virtual_gpu::conversion_rows_test
