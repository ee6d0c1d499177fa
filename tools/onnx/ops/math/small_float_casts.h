// Casts to floats of 4 to 8 bits that have no dtype of their own.
#pragma once

#include "tools/onnx/node/call.h"

#include <string_view>

namespace sinter::onnx {

/// How f8e8m0, which has only powers of two, rounds other numbers. `nearest` rounds ties up.
enum class ScaleRounding : std::uint8_t { up, down, nearest };
/// Throws UserError for an unknown word.
ScaleRounding scale_rounding(std::string_view word);

/// x rounded to the values of `type`, a small float, in the dtype that holds them. Numbers out of
/// range become the nearest number of the type if the cast saturates, else NaN. Types without NaN
/// always saturate, and NaN becomes -0 in them. f8e8m0 takes absolute values.
Tensor cast_to_small_float(const Tensor& x, ElementType type, bool saturates,
                           ScaleRounding rounding);

}  // namespace sinter::onnx
