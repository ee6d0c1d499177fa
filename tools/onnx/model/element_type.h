// The element types of ONNX, and the dtypes with which they are imported.
#pragma once

#include "sinter/dtype.h"
#include "tools/onnx/model/schema.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sinter::onnx {

/// The dtype of arrays of `type`; nullopt if there is none. 4-bit integers become i8 and u8.
std::optional<DType> dtype_of(std::int32_t type);
/// ONNX's name of `type`: `FLOAT`, or `element type 77`.
std::string element_type_name(std::int32_t type);
/// True for 4-bit integers, of which a byte of raw data holds two.
bool is_packed_type(std::int32_t type);

}  // namespace sinter::onnx
