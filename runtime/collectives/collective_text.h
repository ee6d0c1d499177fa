// Collectives as text, for messages.
#pragma once

#include <string>

#include "sinter/communicator.h"

namespace sinter {

/// `all_reduce of 8 f32 elements (sum), recorded at train.cpp:12`
std::string describe(const CollectiveCall& call);

/// True if the collective reduces values.
bool has_reduction(Collective kind);

}  // namespace sinter
