// A hash of what an array holds, to compare results by.
#pragma once

#include "ir/shape/host_array.h"

#include <string>

namespace sinter::command {

/// XXH3 (64 bits) of the elements' bytes in row-major order, as 16 hexadecimal digits. Every NaN
/// counts as the same one; strides and padding do not count.
std::string content_hash(const HostArray& array);

}  // namespace sinter::command
