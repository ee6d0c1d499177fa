// Attributes that name an element type.
#pragma once

#include "tools/onnx/node/call.h"

#include <string_view>

namespace sinter::onnx {

/// An element type as a dtype. Integers of 2 and 4 bits are stored as i8 and u8.
struct ElementTarget {
  DType dtype = f32;
  int packed_bits = 0;  ///< 2 or 4 for such integers, else 0
};

/// The element type that the attribute names. Throws UserError if it is missing or has no dtype.
ElementTarget element_named(const Call& call, std::string_view attribute);

/// The dtype that the attribute names. Throws UserError if it is missing or has no dtype of its
/// own.
DType dtype_named(const Call& call, std::string_view attribute);

}  // namespace sinter::onnx
