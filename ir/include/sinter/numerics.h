// What a caller may trade for speed. The defaults give the bits that were recorded.
#pragma once

#include <cstdint>

namespace sinter {

/// Where elementwise ops of f16, bf16 and the f8 types round.
enum class Rounding : std::uint8_t {
  as_recorded,  ///< every op to its dtype, fused or not: fusing changes no bit
  wide,         ///< ops inside a kernel stay in f32; casts, reductions and what is stored round.
                ///< Results then depend on which ops share a kernel.
};

/// How f32 functions are computed, and those of the narrower dtypes, which are computed in f32.
enum class Math : std::uint8_t {
  accurate,  ///< within the ulp of the op table
  fast,      ///< by the approximations of the hardware where there are some (the column `fast` of
             ///< ops.def: exp, exp2, log, log2, sin, cos, tan, tanh, div and pow), with no bound on
             ///< the error
};

struct Numerics {
  Rounding rounding = Rounding::as_recorded;
  Math math = Math::accurate;
  friend bool operator==(const Numerics&, const Numerics&) = default;
};

}  // namespace sinter
