// Lists of kernels that run the same code, each on arrays of its own: what optimisers are made of.
#pragma once

#include "compiler/kernel.h"

namespace sinter {

/// Gives kernels of `program` that run the same code one number in Kernel::list, where there are
/// enough of them for a table of their arrays to pay. Their shapes may differ where all axes have
/// merged into one. Returns the number of lists.
int find_lists(Program& program);

}  // namespace sinter
