// Casts of single numbers to a dtype, by rounding, wrapping or saturation; the limits of dtypes.
#pragma once

#include "ir/types/wide_integer.h"
#include "sinter/dtype.h"

namespace sinter {

/// `value` rounded once to the floating `dtype`, to nearest even.
double round_to(DType dtype, long double value);
/// `value` rounded as by an op of `dtype`: to the compute dtype, then to `dtype`.
double round_as_op(DType dtype, long double value);
/// The distance between adjacent numbers of the floating `dtype` at `value`. At 0, it is the
/// smallest distance.
long double ulp_at(DType dtype, long double value);
/// The largest finite number of the floating `dtype`.
long double largest_finite(DType dtype);

/// The number of bits of an integer dtype; 1 for bool.
inline int width_of(DType dtype) { return dtype == boolean ? 1 : 8 * size_of(dtype); }
/// `value` modulo 2^bits, in the range of the integer `dtype`. For bool: 1 if `value` is not 0.
Wide wrap_to(DType dtype, Wide value);
/// `value` cast to an integer dtype: rounded toward zero, 0 for NaN, and the nearest end for values
/// out of range. For bool: 1 if `value` is not 0, also for NaN.
Wide cast_to_integer(DType dtype, long double value);
/// The smallest and the largest value of an integer dtype or bool.
Wide lowest_integer(DType dtype);
Wide highest_integer(DType dtype);

}  // namespace sinter
