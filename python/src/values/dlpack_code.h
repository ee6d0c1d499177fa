// The type codes of DLPack (DLDataTypeCode).
#pragma once

#include <cstdint>

#include "sinter/dtype.h"

namespace sinter::python {

constexpr std::uint8_t dlpack_code(DType dtype) {
  switch (dtype) {
    case boolean: return 6;
    case bf16: return 4;
    case c64: return 5;
    case f8e4m3: return 10;
    case f8e5m2: return 12;
    default: return is_floating(dtype) ? 2 : is_signed(dtype) ? 0 : 1;
  }
}

}  // namespace sinter::python
