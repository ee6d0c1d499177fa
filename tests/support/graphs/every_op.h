// A graph with every op of the op table that accepts one dtype.
#pragma once

#include "sinter/graph.h"

#include <vector>

namespace sinter::test {

/// All dtypes that ops compute with.
std::vector<DType> computing_dtypes();

/// Every elementwise op and reduction that accepts `dtype`, over vectors of `elements`. Also scans,
/// casts to every dtype, gathers, flips and scatters.
Graph every_op(DType dtype, std::int64_t elements);

}  // namespace sinter::test
