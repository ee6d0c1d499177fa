#include "tools/onnx/importer/functions.h"

#include "sinter/error.h"
#include "tools/onnx/values/names.h"

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// The versions of the operators that the importer knows.
constexpr std::int64_t kFirstOpset = 1;
constexpr std::int64_t kLastOpset = 28;

}  // namespace

Opsets checked_opsets(std::span<const OperatorSetIdProto> imports) {
  Opsets opsets;
  for (const OperatorSetIdProto& import : imports)
    opsets[domain_of(import.domain)] = import.version;
  const auto opset = opsets.find("");
  if (opset == opsets.end() || (opset->second >= kFirstOpset && opset->second <= kLastOpset))
    return opsets;
  throw UserError(
      fmt::format("it uses version {} of the ONNX operators; sinter imports versions {} to "
                  "{}: convert it with onnx.version_converter",
                  opset->second, kFirstOpset, kLastOpset));
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
