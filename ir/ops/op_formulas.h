// The formulas of the host columns of the op table, which the oracle evaluates. They are separate
// from those of the prelude on purpose: an oracle with the same source text cannot detect a wrong
// formula.
#pragma once

#include "ir/ops/special_functions.h"
#include "ir/types/wide_integer.h"

namespace sinter::op_formulas {

using sinter::digamma;
using sinter::erfinv;
using sinter::wrapping_mul;

long double maximum(long double a, long double b);
long double minimum(long double a, long double b);
/// The larger operand, or the other one if one is NaN.
long double larger_number(long double a, long double b);
/// The smaller operand, or the other one if one is NaN.
long double smaller_number(long double a, long double b);
long double sign(long double a);
long double round_to_even(long double a);
/// The logarithm of |gamma(a)|. Thread-safe.
long double log_gamma(long double a);
/// The next number of `dtype`, f32 or f64, after `a` in the direction of `b`.
long double next_after(long double a, long double b, DType dtype);
long double floor_div(long double a, long double b);
long double floor_remainder(long double a, long double b);

Wide floor_div(Wide a, Wide b);
Wide floor_remainder(Wide a, Wide b);
Wide population_count(Wide a, int bits);
Wide leading_zeros(Wide a, int bits);
Wide shift_left(Wide a, Wide by, int bits);
Wide shift_right(Wide a, Wide by, int bits);
/// Word index % 4 of Philox 4x32-10 with the key `seed` and the counter (index / 4, offset).
Wide philox(Wide seed, Wide offset, Wide index);

}  // namespace sinter::op_formulas
