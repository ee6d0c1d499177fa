#include "tools/onnx/model/element_type.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

struct ElementTypeRow {
  ElementType type;
  std::string_view name;
  std::optional<DType> dtype;
};

constexpr ElementTypeRow kElementTypes[] = {
    {ElementType::undefined, "UNDEFINED", {}},
    {ElementType::f32, "FLOAT", DType::f32},
    {ElementType::u8, "UINT8", DType::u8},
    {ElementType::i8, "INT8", DType::i8},
    {ElementType::u16, "UINT16", DType::u16},
    {ElementType::i16, "INT16", DType::i16},
    {ElementType::i32, "INT32", DType::i32},
    {ElementType::i64, "INT64", DType::i64},
    {ElementType::string, "STRING", {}},
    {ElementType::boolean, "BOOL", DType::boolean},
    {ElementType::f16, "FLOAT16", DType::f16},
    {ElementType::f64, "DOUBLE", DType::f64},
    {ElementType::u32, "UINT32", DType::u32},
    {ElementType::u64, "UINT64", DType::u64},
    {ElementType::c64, "COMPLEX64", {}},
    {ElementType::c128, "COMPLEX128", {}},
    {ElementType::bf16, "BFLOAT16", DType::bf16},
    {ElementType::f8e4m3fn, "FLOAT8E4M3FN", DType::f8e4m3},
    {ElementType::f8e4m3fnuz, "FLOAT8E4M3FNUZ", {}},
    {ElementType::f8e5m2, "FLOAT8E5M2", DType::f8e5m2},
    {ElementType::f8e5m2fnuz, "FLOAT8E5M2FNUZ", {}},
    {ElementType::u4, "UINT4", DType::u8},
    {ElementType::i4, "INT4", DType::i8},
    {ElementType::f4e2m1, "FLOAT4E2M1", {}},
    {ElementType::f8e8m0, "FLOAT8E8M0", {}},
    {ElementType::u2, "UINT2", DType::u8},
    {ElementType::i2, "INT2", DType::i8},
};

const ElementTypeRow* element_type_row(std::int32_t type) {
  const auto* const found =
      std::ranges::find(kElementTypes, static_cast<ElementType>(type), &ElementTypeRow::type);
  return found == std::end(kElementTypes) ? nullptr : found;
}

}  // namespace

std::optional<DType> dtype_of(std::int32_t type) {
  const ElementTypeRow* const row = element_type_row(type);
  return row ? row->dtype : std::nullopt;
}

std::string element_type_name(std::int32_t type) {
  const ElementTypeRow* const row = element_type_row(type);
  return row ? std::string(row->name) : fmt::format("element type {}", type);
}

int packed_bits(std::int32_t type) {
  switch (static_cast<ElementType>(type)) {
    case ElementType::u4:
    case ElementType::i4: return 4;
    case ElementType::u2:
    case ElementType::i2: return 2;
    default: return 0;
  }
}

}  // namespace sinter::onnx
