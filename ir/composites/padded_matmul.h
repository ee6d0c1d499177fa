// A matrix product whose extents are multiples of a number, as tensor cores need for 8-bit dtypes.
#pragma once

#include "sinter/library_ops.h"

#include <cstdint>

namespace sinter {

/// matmul(a, b, options) for operands of rank 2 or more. If k or n is a number that is no multiple
/// of `multiple`, the operands get zeros behind, and the result is cut.
Tensor padded_matmul(const Operand& a, const Operand& b, const MatmulOptions& options,
                     std::int64_t multiple);

}  // namespace sinter
