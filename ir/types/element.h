// Reads and writes single elements of any dtype in memory.
#pragma once

#include "ir/types/wide_integer.h"
#include "sinter/dtype.h"

#include <cstddef>
#include <cstdint>

namespace sinter {

/// The element of any dtype at `address` as a real. bool gives 0 or 1, and c64 gives its real part.
double read_real(DType dtype, const std::byte* address);
/// The element of an integer dtype or bool, exactly; for u64, its 64 bits. Throws InternalError for
/// floating dtypes.
std::int64_t read_integer(DType dtype, const std::byte* address);
/// Writes `value`, rounded to the floating `dtype`.
void write_real(DType dtype, std::byte* address, long double value);
/// Writes `value`, wrapped to the integer `dtype` or bool. Throws InternalError for floating
/// dtypes.
void write_integer(DType dtype, std::byte* address, Wide value);

}  // namespace sinter
