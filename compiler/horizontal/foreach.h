// Lists of kernels that run the same code, each on arrays of its own: what optimisers are made of.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/program/kernel.h"

namespace sinter {

/// Gives kernels of `program` that run the same code one number in Kernel::list, where there are
/// enough of them for a table of their arrays to pay. Their shapes may differ where all axes have
/// merged into one. Returns the number of lists.
int find_lists(Program& program);

/// The order in which the kernels of `program` find a place in launches, none before what it
/// depends on: that of the program. If they are of more codes than a launch may have, each list
/// comes as a whole as far as its kernels wait for nothing that comes later: else every launch
/// would begin with the same codes once more.
std::vector<int> order_by_lists(const Program& program, std::size_t most_codes);

}  // namespace sinter
