// How much one CUDA Graph of mode K holds; bench/peers/common.py has the same rule, so that all
// systems are measured alike.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sinter::suite {

inline constexpr int kMostKernels = 4096;  ///< more take seconds to capture
inline constexpr double kGraphUs = 2000;   ///< what the graph is to take, about
inline constexpr double kKernelUs = 2;     ///< a kernel takes that or less, whatever it moves
inline constexpr double kBytesPerUs = 4e6;

/// Of arrays that calls go round: enough of them that none is in L2 when its turn comes, but no
/// more than calls of `kernels` each may have in a graph.
inline int sets_of(std::int64_t bytes, std::int64_t l2_bytes, int kernels) {
  const std::int64_t most = std::max(kMostKernels / kernels, 2);
  return static_cast<int>(std::clamp<std::int64_t>(3 * l2_bytes / bytes + 1, 2, most));
}

/// Calls in a graph, each set as often as every other.
inline int calls_of(std::int64_t bytes, int sets, int kernels) {
  const double call_us = kKernelUs * kernels + static_cast<double>(bytes) / kBytesPerUs;
  const int wanted = std::max(4, static_cast<int>(kGraphUs / call_us));
  return (wanted + sets - 1) / sets * sets;
}

}  // namespace sinter::suite
