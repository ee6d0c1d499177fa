// Imports an ONNX model: records its graph through the C++ API.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/graph.h"
#include "tools/onnx/values/recording.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::onnx {

struct ImportOptions {
  std::map<std::string, std::int64_t> dims = {};  ///< sizes of symbolic dimensions, by name
  /// The contents of inputs that become constants, by their names in the model.
  HostArrays constants = {};
};

/// A name of the model that the text form cannot write.
struct RenamedValue {
  std::string in_model;
  std::string in_text;
};

struct ImportedModel {
  Graph graph;
  std::vector<Weight> weights;        ///< inputs of the graph whose contents the model gives
  std::vector<RenamedValue> renamed;  ///< inputs and outputs
};

/// The model in the file `path`. External data is read from the file's folder. Throws UserError: a
/// damaged file, or all inputs, initialisers, nodes and outputs that cannot be imported.
ImportedModel import_model(const std::filesystem::path& path, const ImportOptions& options = {});

/// The model in `bytes`, with its external data in `folder`.
ImportedModel import_model(std::string_view bytes, const std::filesystem::path& folder,
                           const ImportOptions& options = {});

}  // namespace sinter::onnx
