// Describes the launches of a program as text, as the runtime would make them. Needs no device.
#pragma once

#include "runtime/observe/emitted.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::command {

/// One paragraph per launch, in order: kernel, grid, block, cluster, shared memory, the launches
/// that it waits for, and its arguments. Temporaries appear with their offset in the arena.
std::vector<std::string> launch_texts(const EmittedProgram& emitted,
                                      std::span<const std::int64_t> symbols);

}  // namespace sinter::command
