// The op reference for documentation, made from the op table.
#pragma once

#include <string>

namespace sinter {

/// A markdown table for each kind of op: what it is called, takes and gives.
std::string op_reference();

}  // namespace sinter
