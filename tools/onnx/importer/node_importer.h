// Imports the nodes of a graph in order, with the functions that they call and their branches.
#pragma once

#include "tools/onnx/importer/functions.h"
#include "tools/onnx/importer/problems.h"
#include "tools/onnx/node/call.h"
#include "tools/onnx/values/recording.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>

namespace sinter::onnx {

/// The parts that all nodes of a model share.
struct ImportState {
  Recording& recording;
  Problems& problems;
  const FunctionTable& functions;
  const std::filesystem::path& folder;  ///< of the model
  InterfaceNames& names;
  /// The values of tensors in Constants and branches. All calls of a function share them.
  std::unordered_map<const TensorProto*, ValueRef> constants = {};

  // Limits, because functions that call each other make large models of small files.
  std::int64_t nodes_left = std::int64_t{1} << 20;
  std::int64_t elements_left = std::int64_t{1} << 24;  ///< that the importer may evaluate
  bool is_too_large = false;                           ///< and the problems say so
};

/// The surroundings of a node.
struct NodeSurroundings {
  const Opsets& opsets;
  const FunctionAttributes* attributes = nullptr;  ///< of the call, inside a function
  std::string path = {};                           ///< ` in function f`, for messages
  int depth = 0;                                   ///< of functions and branches
};

/// Records `nodes`, and adds their outputs to `scope`. A node that cannot be imported is added to
/// the problems. Its outputs then have failed, and the nodes that read them are skipped.
void import_nodes(ImportState& state, std::span<const NodeProto> nodes, Scope& scope,
                  const NodeSurroundings& around);

/// Counts so many nodes more. False if the model is too large, which the problems report once.
bool take_room(ImportState& state, std::int64_t nodes);

/// Adds the initialisers of a graph to `scope`.
void add_initializers(ImportState& state, const GraphProto& graph, Scope& scope,
                      const std::string& path);

}  // namespace sinter::onnx
