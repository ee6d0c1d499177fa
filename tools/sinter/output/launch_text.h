// The launches of a program in words: what the runtime asks of the driver, before there is a
// device.
#pragma once

#include "runtime/observe/emitted.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::command {

/// A paragraph per launch, in order: kernel, grid, block, cluster, shared memory, the launches that
/// it waits for, and its arguments with the places of temporaries in the arena.
std::vector<std::string> launch_texts(const EmittedProgram& emitted,
                                      std::span<const std::int64_t> symbols);

}  // namespace sinter::command
