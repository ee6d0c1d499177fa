// Options that trade reproducibility or accuracy for speed. The defaults give the recorded bits.
#pragma once

#include <cstdint>

namespace sinter {

/// The points at which elementwise ops of f16, bf16 and the f8 types round.
enum class Rounding : std::uint8_t {
  as_recorded,  ///< every op rounds to its dtype, fused or not: fusion changes no bit
  wide,         ///< ops inside a kernel stay in f32; casts, reductions and stored values round.
                ///< Results then depend on which ops share a kernel.
};

/// The accuracy of functions of f32, and of narrower dtypes, which compute in f32.
enum class Math : std::uint8_t {
  accurate,  ///< errors are within the ulp of the op table
  fast,      ///< uses the hardware approximations of the column `fast` of ops.def, without an
             ///< error bound: exp, exp2, log, log2, sin, cos, tan, tanh, div and pow
};

/// The numerics options of a program.
struct Numerics {
  Rounding rounding = Rounding::as_recorded;
  Math math = Math::accurate;
  friend bool operator==(const Numerics&, const Numerics&) = default;
};

}  // namespace sinter
