// The functions behind the ops of sinter/collectives.h: calls of the communicator's engine.
#pragma once

#include "sinter/communicator.h"
#include "sinter/opaque.h"

namespace sinter {

/// Registers the functions of all collectives, once per process.
void register_collective_functions();

}  // namespace sinter
