// Attributes that name an element type.
#pragma once

#include "tools/onnx/node/call.h"

#include <string_view>

namespace sinter::onnx {

/// The dtype that the attribute names. Throws UserError if it is missing or has no dtype.
DType dtype_named(const Call& call, std::string_view attribute);

}  // namespace sinter::onnx
