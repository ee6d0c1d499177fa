// Lists of kernels that run the same code on different arrays, as the steps of optimisers do.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/program/kernel.h"

namespace sinter {

/// Sets Kernel::foreach_list of the kernels of `program` that run the same code, if they are enough
/// for a table of their arrays. Shapes may differ if all axes have merged into one. Returns the
/// number of lists.
int find_foreach_lists(Program& program);

/// The order in which the kernels of `program` are placed in launches; dependencies come first.
/// This is program order, unless more than `max_distinct` kernels are distinct (a list counts as
/// one). Then each list follows its first kernel, up to the first one that is not ready. Otherwise
/// every launch would contain the same code again.
std::vector<int> order_by_lists(const Program& program, std::size_t max_distinct);

}  // namespace sinter
