// A hash of an array's contents, for comparing results.
#pragma once

#include "ir/shape/host_array.h"

#include <string>

namespace sinter::command {

/// XXH3 (64 bits) of the elements' bytes in row-major order, as 16 hexadecimal digits. All NaNs
/// hash equally; strides and padding do not matter.
std::string content_hash(const HostArray& array);

}  // namespace sinter::command
