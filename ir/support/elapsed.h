// Measures host time.
#pragma once

#include <chrono>

namespace sinter {

/// The milliseconds from `start` until now.
inline double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace sinter
