#include "tools/onnx/importer/functions.h"

#include "sinter/error.h"
#include "tools/onnx/values/names.h"

#include <fmt/format.h>

namespace sinter::onnx {

Opsets opsets_of(std::span<const OperatorSetIdProto> imports) {
  Opsets opsets;
  for (const OperatorSetIdProto& import : imports)
    opsets[domain_of(import.domain)] = import.version;
  return opsets;
}

FunctionTable::FunctionTable(std::span<const FunctionProto> functions) {
  for (const FunctionProto& function : functions) {
    const std::tuple key(domain_of(function.domain), function.name, function.overload);
    if (!functions_.emplace(key, &function).second)
      throw UserError(fmt::format("function {}.{} is defined twice", shown_name(function.domain),
                                  shown_name(function.name)));
  }
}

const FunctionProto* FunctionTable::find(const NodeProto& node) const {
  const auto found = functions_.find({domain_of(node.domain), node.op_type, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace sinter::onnx
