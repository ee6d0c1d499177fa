// Special functions for the oracle, accurate to nearly all digits of long double.
#pragma once

namespace sinter {

/// The y with erf(y) = x: infinite at -1 and 1, NaN beyond. The error is below 1e-18 of the result.
long double erfinv(long double x);

/// The derivative of the logarithm of the gamma function: -inf at 0, inf at -0, NaN at -inf and at
/// negative integers. For x >= 0, the error is below 1e-18 of the result, also near the root. For
/// x < 0, it is below 1e-18 of max(|result|, digamma(1 - x), 1).
long double digamma(long double x);

/// The derivative of digamma: inf at 0 and at negative integers, NaN at -inf. The error is below
/// 1e-18 of the result.
long double trigamma(long double x);

}  // namespace sinter
