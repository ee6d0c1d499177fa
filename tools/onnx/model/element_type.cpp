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
  int narrow_bits = 0;
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
    {ElementType::f8e4m3fnuz, "FLOAT8E4M3FNUZ", DType::f16, 8},
    {ElementType::f8e5m2, "FLOAT8E5M2", DType::f8e5m2},
    {ElementType::f8e5m2fnuz, "FLOAT8E5M2FNUZ", DType::f16, 8},
    {ElementType::u4, "UINT4", DType::u8, 4},
    {ElementType::i4, "INT4", DType::i8, 4},
    {ElementType::f4e2m1, "FLOAT4E2M1", DType::f8e4m3, 4},
    {ElementType::f8e8m0, "FLOAT8E8M0", DType::bf16, 8},
    {ElementType::u2, "UINT2", DType::u8, 2},
    {ElementType::i2, "INT2", DType::i8, 2},
    {ElementType::f6e2m3, "FLOAT6E2M3", DType::f8e4m3, 6},
    {ElementType::f6e3m2, "FLOAT6E3M2", DType::f8e4m3, 6},
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

int narrow_bits(std::int32_t type) {
  const ElementTypeRow* const row = element_type_row(type);
  return row ? row->narrow_bits : 0;
}

ElementType narrow_type(std::int32_t type) {
  return narrow_bits(type) == 0 ? ElementType::undefined : static_cast<ElementType>(type);
}

}  // namespace sinter::onnx
