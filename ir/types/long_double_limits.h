// Infinity and NaN in long double, the type in which the oracle computes.
#pragma once

#include <limits>

namespace sinter {

inline constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
inline constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();

}  // namespace sinter
