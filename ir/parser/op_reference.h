// Generates the op reference of the documentation from the op table.
#pragma once

#include <string>

namespace sinter {

/// One markdown table per kind of op, with the name, dtypes or attributes, and result of each op.
std::string op_reference();

}  // namespace sinter
