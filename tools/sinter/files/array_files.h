// Reads inputs from .npy files, and writes results to them.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/graph.h"
#include "tools/sinter/commands/run_graph.h"

#include <span>
#include <string>

namespace sinter::command {

/// The arrays of words like `x=x.npy`, by name. Throws UsageError on a word of another form and on
/// an unknown or repeated input. Also throws the errors of read_npy.
HostArrays read_inputs(const Graph& graph, std::span<const std::string> given);

/// Contents for every input but those `without`: the given array if there is one, else random.
HostArrays complete_inputs(const Graph& graph, std::span<const std::int64_t> symbols,
                           std::uint64_t seed, const HostArrays& given,
                           std::span<const std::string> without = {});

/// Writes every result to NAME.npy in `directory`, and creates the folder if needed. An update with
/// the name of an output goes to NAME.updated.npy. Returns the paths.
std::vector<std::string> write_results(const std::string& directory,
                                       std::span<const Result> results);

}  // namespace sinter::command
