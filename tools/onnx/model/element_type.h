// The element types of ONNX, and the dtypes with which they are imported.
#pragma once

#include "sinter/dtype.h"
#include "tools/onnx/model/schema.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sinter::onnx {

/// The dtype of arrays of `type`; nullopt if there is none. Narrow types have no dtype of their
/// own. Arrays hold them in a dtype that has all their values:
///
/// - integers of 2 and 4 bits in i8 and u8
/// - floats of 4 and 6 bits in f8e4m3
/// - f8 without negative zero (FNUZ) in f16
/// - f8e8m0 in bf16
std::optional<DType> dtype_of(std::int32_t type);
/// ONNX's name of `type`: `FLOAT`, or `element type 77`.
std::string element_type_name(std::int32_t type);
inline std::string element_type_name(ElementType type) {
  return element_type_name(static_cast<std::int32_t>(type));
}
/// The bits of one element of a narrow type in a file; 0 for other types.
int narrow_bits(std::int32_t type);
/// `type` if it is narrow, else undefined.
ElementType narrow_type(std::int32_t type);

}  // namespace sinter::onnx
