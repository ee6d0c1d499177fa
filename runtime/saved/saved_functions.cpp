#include "runtime/saved/saved_functions.h"

#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/graph/opaque_node.h"
#include "ir/record/opaque.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// `gemm(bf16[rows, 512], bf16[512, 64]) {alpha = 0.5} : bf16[rows, 64]`
std::string type_of(const Node& call) {
  std::vector<std::string> operands;
  for (const Node* operand : call.operands)
    operands.push_back(
        std::string(name(operand->dtype)) +
        (operand->op == Op::scalar ? "" : to_string(std::span<const Extent>(operand->shape))));
  std::vector<std::string> results;
  for (const ResultType& type : result_types(call))
    results.push_back(std::string(name(type.dtype)) + to_string(type.shape));
  const std::string options = options_text(options_of(call));
  return fmt::format("{}({}){} : {}", function_of(call), fmt::join(operands, ", "),
                     options.empty() ? "" : fmt::format(" {{{}}}", options),
                     fmt::join(results, ", "));
}

/// Every type of call once; of many, the first.
std::string calls_of(const GraphData& graph, std::string_view function) {
  constexpr std::size_t kMostTold = 4;
  std::vector<std::string> told;
  std::unordered_set<std::string> types;
  for (const Node* node : graph.nodes) {
    if (!is_opaque(*node) || function_of(*node) != function) continue;
    const auto [type, is_new] = types.insert(type_of(*node));
    if (is_new && told.size() < kMostTold) told.push_back(*type);
  }
  const std::size_t more = types.size() - told.size();
  return fmt::format("{}{}", fmt::join(told, "; "),
                     more > 0 ? fmt::format("; and {} more", more) : "");
}

[[noreturn]] void fail_missing(const SavedExecutable& saved, const SavedFunction& function,
                               const std::string& path) {
  const std::vector<std::string> known = registered_names();
  throw UserError(fmt::format(
      "load: {0} calls {1}, and no function of this name is registered in this process{2}; before "
      "it is loaded, call register_opaque(\"{1}\", …) with what was version {3} of it, with{4} "
      "workspace, when it was saved, and makes these calls: {5}",
      path, function.name, known.empty() ? "" : fmt::format(", only {}", fmt::join(known, ", ")),
      function.version, function.has_workspace ? "" : "out",
      calls_of(saved.graph->data(), function.name)));
}

}  // namespace

OpaqueFunctions find_functions(const SavedExecutable& saved, const std::string& path) {
  OpaqueFunctions functions;
  for (const SavedFunction& function : saved.program.functions) {
    std::shared_ptr<const OpaqueFunction> found = find_opaque(function.name);
    if (!found) fail_missing(saved, function, path);
    if (found->version != function.version)
      throw UserError(fmt::format(
          "load: {} calls version {} of {}, and version {} is registered in this process; register "
          "the one that it was saved with, or save it again with this one",
          path, function.version, function.name, found->version));
    functions.emplace(function.name, std::move(found));
  }
  return functions;
}

}  // namespace sinter
