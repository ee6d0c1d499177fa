// Element types: their names and sizes, and the dtypes in which ops compute and accumulate them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sinter {

/// The type of one element of a Tensor or Array. Both f8 types saturate: numbers
/// beyond the largest number become that number. An infinity stays one in f8e5m2. In f8e4m3, which
/// has no infinity, it becomes the largest number. The dtype c64 is for storage only: programs can
/// cast reals to it, move it and write it, but not compute with it.
enum class DType : std::uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f8e4m3,
  f8e5m2,
  f16,
  bf16,
  f32,
  f64,
  c64
};

inline constexpr DType boolean = DType::boolean;
inline constexpr DType i8 = DType::i8;
inline constexpr DType i16 = DType::i16;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i64 = DType::i64;
inline constexpr DType u8 = DType::u8;
inline constexpr DType u16 = DType::u16;
inline constexpr DType u32 = DType::u32;
inline constexpr DType u64 = DType::u64;
inline constexpr DType f8e4m3 = DType::f8e4m3;
inline constexpr DType f8e5m2 = DType::f8e5m2;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType c64 = DType::c64;

enum class DTypeKind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating };

/// One row per dtype, with all its properties.
struct DTypeInfo {
  DType dtype;
  std::string_view name;    ///< in the text form: `bf16`
  std::string_view c_name;  ///< in emitted source: `bf16`, `long long`
  int size;                 ///< bytes of one element in memory
  DTypeKind kind;
  DType compute;      ///< the dtype in which ops compute before they round
  DType accumulator;  ///< the dtype in which sums accumulate
  int mantissa_bits;  ///< bits of precision, with the implied one; 0 for integers
  int min_exponent;   ///< exponent of the smallest normal number
  int max_exponent;   ///< exponent of the largest finite number
};

// clang-format off
inline constexpr DTypeInfo kDTypes[] = {
    {DType::boolean, "bool",   "bool",               1, DTypeKind::boolean,          DType::boolean, DType::i64,  0,     0,    0},
    {DType::i8,      "i8",     "signed char",        1, DTypeKind::signed_integer,   DType::i8,      DType::i64,  0,     0,    0},
    {DType::i16,     "i16",    "short",              2, DTypeKind::signed_integer,   DType::i16,     DType::i64,  0,     0,    0},
    {DType::i32,     "i32",    "int",                4, DTypeKind::signed_integer,   DType::i32,     DType::i64,  0,     0,    0},
    {DType::i64,     "i64",    "long long",          8, DTypeKind::signed_integer,   DType::i64,     DType::i64,  0,     0,    0},
    {DType::u8,      "u8",     "unsigned char",      1, DTypeKind::unsigned_integer, DType::u8,      DType::u64,  0,     0,    0},
    {DType::u16,     "u16",    "unsigned short",     2, DTypeKind::unsigned_integer, DType::u16,     DType::u64,  0,     0,    0},
    {DType::u32,     "u32",    "unsigned",           4, DTypeKind::unsigned_integer, DType::u32,     DType::u64,  0,     0,    0},
    {DType::u64,     "u64",    "unsigned long long", 8, DTypeKind::unsigned_integer, DType::u64,     DType::u64,  0,     0,    0},
    {DType::f8e4m3,  "f8e4m3", "f8e4m3",             1, DTypeKind::floating,         DType::f32,     DType::f32,  4,    -6,    8},
    {DType::f8e5m2,  "f8e5m2", "f8e5m2",             1, DTypeKind::floating,         DType::f32,     DType::f32,  3,   -14,   15},
    {DType::f16,     "f16",    "f16",                2, DTypeKind::floating,         DType::f32,     DType::f32, 11,   -14,   15},
    {DType::bf16,    "bf16",   "bf16",               2, DTypeKind::floating,         DType::f32,     DType::f32,  8,  -126,  127},
    {DType::f32,     "f32",    "float",              4, DTypeKind::floating,         DType::f32,     DType::f32, 24,  -126,  127},
    {DType::f64,     "f64",    "double",             8, DTypeKind::floating,         DType::f64,     DType::f64, 53, -1022, 1023},
    {DType::c64,     "c64",    "c64",                8, DTypeKind::floating,         DType::f32,     DType::f32, 24,  -126,  127},
};
// clang-format on

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
constexpr int size_of(DType dtype) { return info(dtype).size; }
constexpr bool is_floating(DType dtype) { return info(dtype).kind == DTypeKind::floating; }
constexpr bool is_signed(DType dtype) { return info(dtype).kind == DTypeKind::signed_integer; }
constexpr bool is_unsigned(DType dtype) { return info(dtype).kind == DTypeKind::unsigned_integer; }
constexpr bool is_integer(DType dtype) { return is_signed(dtype) || is_unsigned(dtype); }
constexpr bool is_f8(DType dtype) { return is_floating(dtype) && size_of(dtype) == 1; }
/// True for f16, bf16, the f8 types and c64: they compute in f32 and round once per op.
constexpr bool is_narrow(DType dtype) { return info(dtype).compute != dtype; }

/// The common dtype of operands with dtypes `a` and `b`. For two dtypes of one kind, it is the
/// wider dtype; for f16 and bf16, it is f32. For a signed and an unsigned integer, it is the
/// smallest signed integer that holds both. For a floating dtype and an integer, it is the floating
/// dtype. For bool and another dtype, it is the other dtype.
///
/// Returns nullopt if there is none: u64 with a signed integer, two different f8 types, and c64
/// with any other dtype.
std::optional<DType> common_dtype(DType a, DType b);

}  // namespace sinter
