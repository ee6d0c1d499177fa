#include "runtime/saved/saved_functions.h"

#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/graph/opaque_node.h"
#include "ir/record/opaque.h"
#include "runtime/libraries/library_functions.h"
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

/// The distinct types of the calls of `function`, at most the first 4 of them.
std::string calls_of(const GraphData& graph, std::string_view function) {
  constexpr std::size_t kMaxListed = 4;
  std::vector<std::string> listed;
  std::unordered_set<std::string> types;
  for (const Node* node : graph.nodes) {
    if (!is_opaque(*node) || function_of(*node) != function) continue;
    const auto [type, is_new] = types.insert(type_of(*node));
    if (is_new && listed.size() < kMaxListed) listed.push_back(*type);
  }
  const std::size_t more = types.size() - listed.size();
  return fmt::format("{}{}", fmt::join(listed, "; "),
                     more > 0 ? fmt::format("; and {} more", more) : "");
}

[[noreturn]] void fail_missing(const SavedExecutable& saved, const SavedFunction& function,
                               const std::string& path) {
  throw UserError(fmt::format(
      "load: {0} calls {1}, but no function of this name is registered in this process{2}; before "
      "loading it, call register_opaque(\"{1}\", …) with version {3} of the function, with{4} "
      "workspace, as it was saved; it must support these calls: {5}",
      path, function.name, registered_names_text(), function.version,
      function.has_workspace ? "" : "out", calls_of(saved.graph->data(), function.name)));
}

}  // namespace

OpaqueFunctions find_functions(const SavedExecutable& saved, const std::string& path) {
  register_library_functions();
  OpaqueFunctions functions;
  for (const SavedFunction& function : saved.program.functions) {
    std::shared_ptr<const OpaqueFunction> found = find_opaque(function.name);
    if (!found) fail_missing(saved, function, path);
    if (found->version != function.version)
      throw UserError(fmt::format(
          "load: {} calls version {} of {}, but version {} is registered in this process; register "
          "the version that it was saved with, or save it again with this version",
          path, function.version, function.name, found->version));
    functions.emplace(function.name, std::move(found));
  }
  return functions;
}

}  // namespace sinter
