// Special functions for the oracle, to nearly all digits of long double.
#pragma once

namespace sinter {

/// The y with erf(y) = x: infinite at -1 and 1, NaN beyond. Off by less than 1e-18 of the result.
long double erfinv(long double x);

/// The derivative of the logarithm of the gamma function: -inf at 0, inf at -0, NaN at the negative
/// whole numbers and -inf. For x >= 0 off by less than 1e-18 of the result, its root included;
/// below 0 of max(|result|, digamma(1 - x), 1).
long double digamma(long double x);

/// The derivative of digamma: inf at 0 and the negative whole numbers, NaN at -inf. Off by less
/// than 1e-18 of the result.
long double trigamma(long double x);

}  // namespace sinter
