// Numbers as C++ text that reads back to the same bits.
#pragma once

#include <string>

#include "ir/graph/node.h"

namespace sinter {

/// `literal` in the compute type of `dtype`: `1.5f`, `7ll`, `as_float(0x7f800000u)`. Negative
/// literals are parenthesised, so that they may follow any operator.
std::string c_literal(const Literal& literal, DType dtype);

}  // namespace sinter
