// Reports of a launch: its counts as JSON, and an estimate of its time on the GPU.
#pragma once

#include <cstdint>
#include <string>

#include "tests/virtual_gpu/execution/counts.h"
#include "tests/virtual_gpu/execution/gpu.h"

namespace sinter::virtual_gpu::driver {

/// One line without a line end.
std::string counts_as_json(const LaunchCounts& counts, int device);

/// Estimated times, so that events give the same times in every run. They rise with the memory
/// traffic and the instructions, but are no prediction.
std::uint64_t kernel_nanoseconds(const LaunchCounts& counts, const GpuLimits& limits);
std::uint64_t copy_nanoseconds(std::size_t bytes);

}  // namespace sinter::virtual_gpu::driver
