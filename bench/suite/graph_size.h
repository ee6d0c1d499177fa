// The number of sets and calls of one CUDA Graph in mode K. All systems use this rule; for the
// peers bench/peers/timing.py has it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sinter::suite {

inline constexpr int kMaxKernels = 4096;  ///< larger graphs take seconds to capture
inline constexpr double kGraphUs = 2000;  ///< the intended duration of a graph
inline constexpr double kKernelUs = 2;    ///< the assumed fixed time of a kernel
inline constexpr double kBytesPerUs = 4e6;

/// The number of sets of arrays that calls use in turn, so that no set is in L2 when it is used
/// again. At most as many as calls of `kernels` kernels fit into a graph.
inline int sets_of(std::int64_t bytes, std::int64_t l2_bytes, int kernels) {
  const std::int64_t most = std::max(kMaxKernels / kernels, 2);
  return static_cast<int>(std::clamp<std::int64_t>(3 * l2_bytes / bytes + 1, 2, most));
}

/// The number of calls in a graph, a multiple of `sets`.
inline int calls_of(std::int64_t bytes, int sets, int kernels) {
  const double call_us = kKernelUs * kernels + static_cast<double>(bytes) / kBytesPerUs;
  const int wanted = std::max(4, static_cast<int>(kGraphUs / call_us));
  return (wanted + sets - 1) / sets * sets;
}

}  // namespace sinter::suite
