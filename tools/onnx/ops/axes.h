// Extents and axes, for families that work along the axes of an array.
#pragma once

#include "tools/onnx/node/call.h"

#include <cstdint>

namespace sinter::onnx {

/// The value of an extent that must be a number. Throws UserError for symbols.
std::int64_t number_of(Extent extent);
/// The extent as a number of the text, or as a Tensor of rank 0.
Operand operand_of(const Call& call, Extent extent);
/// `x`, followed by `count` axes of extent 1.
Tensor with_trailing_axes(const Tensor& x, std::size_t count);

}  // namespace sinter::onnx
