// A graph in text form with its weights: arrays in a folder beside its text.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/graph.h"

#include <filesystem>
#include <string>

namespace sinter::command {

/// `MODEL.weights` for `MODEL.sinter`.
std::filesystem::path weights_folder(const std::filesystem::path& graph_file);

/// Adds the array NAME.npy of the weights folder of `graph_file` for every input NAME that `arrays`
/// lacks, if there is such a file. Throws the errors of read_npy.
void read_weights(const Graph& graph, const std::filesystem::path& graph_file, HostArrays& arrays);

/// Writes a model: `MODEL.sinter` and, if it has weights, the folder `MODEL.weights`. The text is
/// written last: without it, the files of an interrupted command are no model. Throws UserError if
/// a file or folder cannot be written.
class ModelWriter {
 public:
  /// Creates the folder of `graph_file`. Removes an older model of that name.
  explicit ModelWriter(const std::filesystem::path& graph_file);
  void add_weight(const std::string& name, const HostArray& array);
  void finish(const std::string& text) const;

 private:
  std::filesystem::path graph_file_;
};

}  // namespace sinter::command
