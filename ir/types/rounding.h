// What it means for a value to have a dtype: rounding, wrapping and casting of single numbers.
#pragma once

#include "ir/types/wide_integer.h"
#include "sinter/dtype.h"

#include <cstdint>

namespace sinter {

/// `value` rounded once to the floating `dtype`, to nearest even.
double round_to(DType dtype, long double value);
/// `value` rounded as an op of `dtype` does it: to the compute type, then to `dtype`.
double round_as_op(DType dtype, long double value);
/// The distance between neighbours of floating `dtype` at `value`; the smallest one at 0.
long double ulp_at(DType dtype, long double value);
/// The largest finite number of floating `dtype`.
long double largest_finite(DType dtype);

/// The bits of an integer dtype.
inline int width_of(DType dtype) { return dtype == boolean ? 1 : 8 * size_of(dtype); }
/// `value` modulo 2^bits of the integer `dtype`, in its range; for bool whether it is not 0.
Wide wrap_to(DType dtype, Wide value);
/// `value` cast to an integer or bool: toward zero, NaN to 0, what is out of range to the nearest
/// end. bool is whether it is not 0, true for NaN.
Wide cast_to_integer(DType dtype, long double value);
/// The ends of the range of an integer dtype or bool.
Wide lowest_integer(DType dtype);
Wide highest_integer(DType dtype);

}  // namespace sinter
