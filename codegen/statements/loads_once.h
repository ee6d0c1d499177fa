// Whether loads may be written twice: once for some places, once for the others.
#pragma once

#include <span>
#include <vector>

#include "compiler/body/body.h"

namespace sinter {

/// True if none of the loads among `values` reads an element at two places along `axes`: else both
/// texts might read it, and its bytes would cross memory, and be counted, twice.
bool reads_once(const Body& body, const std::vector<bool>& values, std::span<const int> axes);

}  // namespace sinter
