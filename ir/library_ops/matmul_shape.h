// Shapes and dtypes of matrix products, which recording and verification share.
#pragma once

#include "ir/record/record.h"
#include "sinter/library_ops.h"

namespace sinter {

inline constexpr std::string_view kMatmul = "matmul";  ///< in messages

/// The result of a product of a and b, both of rank 2 or more: the broadcast leading axes, then m
/// and n. Throws UserError if the shapes do not fit.
ShapeVector matmul_shape(const Node& a, const Node& b, bool transpose_a, bool transpose_b,
                         Location location);

/// The dtype of the result if the user names none. Throws UserError if no library multiplies the
/// dtypes of a and b.
DType matmul_dtype(const Node& a, const Node& b, Location location);
/// True if a product of operands of `operand` may have the dtype `result`.
bool is_matmul_result(DType operand, DType result);

/// True if `node` is a view that swaps the last two axes of its operand, and moves no other.
bool swaps_last_axes(const Node& node);

}  // namespace sinter
