// The weights of a graph: arrays in a folder beside its text.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/graph.h"

#include <filesystem>

namespace sinter::command {

/// `MODEL.weights` for `MODEL.sinter` or a compiled file of the same stem.
std::filesystem::path weights_folder(const std::filesystem::path& graph_file);

/// Adds the array NAME.npy of the weights folder of `graph_file` for every input NAME that `arrays`
/// lacks, if there is such a file. Throws the errors of read_npy.
void read_weights(const Graph& graph, const std::filesystem::path& graph_file, HostArrays& arrays);

}  // namespace sinter::command
