// Checks that a loop over tiles may be split into two texts without reading an element in both.
#pragma once

#include <span>
#include <vector>

#include "compiler/body/body.h"

namespace sinter {

/// True if no load among `values` reads one element at two positions along `axes`. Otherwise both
/// texts might read the element, and its bytes would be moved and counted twice.
bool reads_once(const Body& body, const std::vector<bool>& values, std::span<const int> axes);

}  // namespace sinter
