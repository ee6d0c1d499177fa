// Element types: their names, sizes, and the types they are computed and accumulated in.
#pragma once

#include <cstdint>
#include <string_view>

namespace sinter {

/// The type of one element of a Tensor or Array.
enum class DType : std::uint8_t { boolean, i32, i64, f16, bf16, f32, f64 };

inline constexpr DType boolean = DType::boolean;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i64 = DType::i64;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;

enum class DTypeKind : std::uint8_t { boolean, integer, floating };

/// One row per dtype: everything that is known of it.
struct DTypeInfo {
  DType dtype;
  std::string_view name;    ///< as in the text form: `bf16`
  std::string_view c_name;  ///< as in emitted source: `bf16`, `long long`
  int size;                 ///< bytes of one element in memory
  DTypeKind kind;
  DType compute;      ///< what an op on it is computed in before it rounds
  DType accumulator;  ///< what a sum over it is carried in
  int mantissa_bits;  ///< stored and implied bits of precision; 0 for integers
  int min_exponent;   ///< of the smallest normal number
  int max_exponent;   ///< of the largest finite number
};

// clang-format off
inline constexpr DTypeInfo kDTypes[] = {
    {DType::boolean, "bool", "bool",      1, DTypeKind::boolean,  DType::boolean, DType::i64,  0,     0,    0},
    {DType::i32,     "i32",  "int",       4, DTypeKind::integer,  DType::i32,     DType::i64,  0,     0,    0},
    {DType::i64,     "i64",  "long long", 8, DTypeKind::integer,  DType::i64,     DType::i64,  0,     0,    0},
    {DType::f16,     "f16",  "f16",       2, DTypeKind::floating, DType::f32,     DType::f32, 11,   -14,   15},
    {DType::bf16,    "bf16", "bf16",      2, DTypeKind::floating, DType::f32,     DType::f32,  8,  -126,  127},
    {DType::f32,     "f32",  "float",     4, DTypeKind::floating, DType::f32,     DType::f32, 24,  -126,  127},
    {DType::f64,     "f64",  "double",    8, DTypeKind::floating, DType::f64,     DType::f64, 53, -1022, 1023},
};
// clang-format on

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
constexpr int size_of(DType dtype) { return info(dtype).size; }
constexpr bool is_floating(DType dtype) { return info(dtype).kind == DTypeKind::floating; }
constexpr bool is_integer(DType dtype) { return info(dtype).kind == DTypeKind::integer; }
/// True for f16 and bf16, which compute in f32 and round once per op.
constexpr bool is_half(DType dtype) { return is_floating(dtype) && size_of(dtype) == 2; }

}  // namespace sinter
