// Inputs from .npy files, and results to them.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/graph.h"
#include "tools/sinter/commands/run_graph.h"

#include <span>
#include <string>

namespace sinter::command {

/// The arrays of `x=x.npy` and the like, by name. Throws UsageError on a word of another form, on
/// an input that the graph has not or that is given twice, and what read_npy throws.
HostArrays read_inputs(const Graph& graph, std::span<const std::string> given);

/// Random contents for every input, but where arrays are given, theirs.
HostArrays complete_inputs(const Graph& graph, std::span<const std::int64_t> symbols,
                           std::uint64_t seed, const HostArrays& given);

/// Writes every result to NAME.npy in `directory`, which is made if need be; an update whose name
/// an output bears to NAME.updated.npy. Returns their paths.
std::vector<std::string> write_results(const std::string& directory,
                                       std::span<const Result> results);

}  // namespace sinter::command
