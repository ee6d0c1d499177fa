// Element types that attributes and operators give to outputs.
#pragma once

#include "tools/onnx/node/call.h"

#include <string_view>

namespace sinter::onnx {

/// An element type as a dtype.
struct ElementTarget {
  DType dtype = f32;
  ElementType narrow = ElementType::undefined;  ///< the type if the dtype is not its own
};

/// The element type that the attribute names. Throws UserError if it is missing or has no dtype.
ElementTarget element_named(const Call& call, std::string_view attribute);

/// The element type of a node's outputs if it has no dtype of its own, else undefined. It is that
/// of a cast or quantisation, or of the elements that the node moves.
ElementType narrow_type_of_outputs(const Call& call);

/// The dtype that the attribute names. Throws UserError if it is missing or has no dtype of its
/// own.
DType dtype_named(const Call& call, std::string_view attribute);

}  // namespace sinter::onnx
