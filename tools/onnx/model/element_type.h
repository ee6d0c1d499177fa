// The element types of ONNX, and the dtypes with which they are imported.
#pragma once

#include "sinter/dtype.h"
#include "tools/onnx/model/schema.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sinter::onnx {

/// The dtype of arrays of `type`; nullopt if there is none. Integers of 2 and 4 bits become i8 and
/// u8.
std::optional<DType> dtype_of(std::int32_t type);
/// ONNX's name of `type`: `FLOAT`, or `element type 77`.
std::string element_type_name(std::int32_t type);
/// The bits of one element if a byte of the file holds several, else 0.
int packed_bits(std::int32_t type);
/// True for integers of 2 and 4 bits.
inline bool is_packed_type(std::int32_t type) { return packed_bits(type) != 0; }

}  // namespace sinter::onnx
