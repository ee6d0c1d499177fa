// One element in memory: numbers to and from the bytes of any dtype.
#pragma once

#include "ir/types/wide_integer.h"
#include "sinter/dtype.h"

#include <cstddef>
#include <cstdint>

namespace sinter {

/// The element at `place`, of any dtype, as a real (bool as 0 or 1; of c64 the real part) …
double read_real(DType dtype, const std::byte* place);
/// … and of integers and bool exactly, those of u64 as their 64 bits.
std::int64_t read_integer(DType dtype, const std::byte* place);
/// Writes `value`, rounded to the floating `dtype`.
void write_real(DType dtype, std::byte* place, long double value);
/// Writes `value`, wrapped to the integer `dtype` or bool.
void write_integer(DType dtype, std::byte* place, Wide value);

}  // namespace sinter
