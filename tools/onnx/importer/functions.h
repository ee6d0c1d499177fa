// The model-local functions, and the versions of operator sets.
#pragma once

#include "tools/onnx/model/schema.h"

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>

namespace sinter::onnx {

/// `ai.onnx` is another name of the default domain.
inline std::string_view domain_of(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

/// The versions of operator sets, by domain.
using Opsets = std::map<std::string_view, std::int64_t>;
/// Throws UserError for a version of the default domain that the importer does not know.
Opsets checked_opsets(std::span<const OperatorSetIdProto> imports);

class FunctionTable {
 public:
  /// Throws UserError if two functions have one name.
  explicit FunctionTable(std::span<const FunctionProto> functions);
  /// The function that `node` calls; nullptr if there is none.
  const FunctionProto* find(const NodeProto& node) const;

 private:
  /// Domain, name and overload.
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const FunctionProto*>
      functions_;
};

}  // namespace sinter::onnx
