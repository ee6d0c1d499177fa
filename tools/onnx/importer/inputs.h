// The inputs of a model: arrays with symbols for the extents that the model does not fix.
#pragma once

#include "tools/onnx/importer/node_importer.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace sinter::onnx {

/// The extents of a model's named dimensions.
class Dimensions {
 public:
  /// `given` fixes dimensions, by their name in the model or in the text.
  explicit Dimensions(const std::map<std::string, std::int64_t>& given) : given_(given) {}

  /// The extent of `dimension`. `fallback` names its symbol if it has neither name nor number.
  /// Throws UserError for a number below 0, except that -1 means unknown.
  Extent extent(Graph& graph, const DimensionProto& dimension, const std::string& fallback);
  /// Throws UserError if a given name is no dimension of the model.
  void check_all_used() const;

 private:
  Extent named(Graph& graph, std::string_view name);

  const std::map<std::string, std::int64_t>& given_;
  std::set<std::string> used_;                               ///< of the given names
  std::map<std::string, std::string, std::less<>> symbols_;  ///< by name in the model
  UniqueNames names_;
};

/// Records the inputs of `graph`, and adds them to `scope`. An initialiser in `scope` with the name
/// of an input is its default; before version 4 of the format, that meant nothing.
void add_inputs(const GraphProto& graph, std::int64_t ir_version, Dimensions& dimensions,
                const HostArrays& constants, ImportState& state, Scope& scope);

}  // namespace sinter::onnx
