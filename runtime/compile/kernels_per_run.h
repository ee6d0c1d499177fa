// How many kernels one run of the host compiler takes.
#pragma once

#include <cstddef>

namespace sinter {

/// A run costs about as much as a few kernels, so that few are not worth one of their own.
inline constexpr std::size_t kKernelsPerRun = 16;

}  // namespace sinter
