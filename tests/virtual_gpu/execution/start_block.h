// Starts the blocks of a launch: memory, registers and special registers.
#pragma once

#include <memory>

#include "tests/virtual_gpu/execution/machine.h"

namespace sinter::virtual_gpu {

/// The blocks of cluster `index` of the launch, ready to run.
std::unique_ptr<Cluster> start_cluster(ActiveLaunch& launch, std::uint32_t index,
                                       std::uint64_t first_phase);

}  // namespace sinter::virtual_gpu
