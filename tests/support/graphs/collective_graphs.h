// Graphs with collectives, and checks of their results on several ranks.
#pragma once

#include <vector>

#include "ir/shape/host_array.h"
#include "sinter/sinter.h"

namespace sinter::test {

/// Each collective of one input x [12, 5] in `dtype`, in a group named data.
Graph every_collective(DType dtype, int ranks,
                       const std::vector<Reduce>& orders = {Reduce::ordered, Reduce::fast});

/// Sums of `arrays` inputs over two ranks; the last depends on the sum before.
Graph sums(int arrays, Reduce order);

/// Other inputs for each rank.
std::vector<HostArrays> random_ranks(const Graph& graph, int ranks);

/// Fails unless the results of all ranks agree with the oracle.
void expect_oracle(const Graph& graph, const std::vector<HostArrays>& inputs,
                   const std::vector<HostArrays>& results);

}  // namespace sinter::test
