// A graph of everything that the op table can do with one dtype.
#pragma once

#include "sinter/graph.h"

#include <vector>

namespace sinter::test {

/// All dtypes that are computed with.
std::vector<DType> computing_dtypes();

/// Every elementwise row and reduction that takes `dtype` over vectors of `elements`, the casts to
/// every dtype, and the gathers and windows of them.
Graph every_op(DType dtype, std::int64_t elements);

}  // namespace sinter::test
