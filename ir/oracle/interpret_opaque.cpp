// The oracle for opaque calls and library ops: calls the function's reference. Without one, results
// are undecided.
#include <algorithm>

#include <fmt/format.h>

#include "ir/oracle/interpret_ops.h"
#include "ir/library_ops/reference.h"
#include "ir/record/opaque.h"
#include "ir/shape/extent.h"
#include "ir/types/casts.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// Rounds or wraps a reference's values to the dtype and adapts the bounds. A bound that is NaN or
/// negative becomes undecided.
void round_to_dtype(Expected& value) {
  for (std::size_t i = 0; i < value.bounds.size(); ++i) {
    double& bound = value.bounds[i];
    if (!(bound >= 0)) bound = kUndecided;
    if (is_floating(value.dtype))
      set_element(value, i, round_within(value.dtype, value.reals[i], bound));
  }
  for (std::int64_t& integer : value.integers)
    integer = to_storage_bits(wrap_to(value.dtype, from_storage_bits(value.dtype, integer)));
  drop_exact_bounds(value);
}

}  // namespace

namespace {

using Reference = std::function<void(const OpaqueReference&)>;

/// The reference of the function that `node` calls; empty if it has none.
Reference reference_of(const GraphData& graph, const Node& node) {
  if (is_library(node.op)) return library_reference(node.op);
  return registered_function(graph, node)->reference;
}

}  // namespace

Expected interpret_opaque(const GraphData& graph, const NodeEvaluation& evaluation) {
  const Node& node = evaluation.node;
  const Reference reference = reference_of(graph, node);
  const bool is_decided = reference && !has_bounds(evaluation.operands);
  std::vector<Expected> results;
  for (const ResultType& type : result_types(node)) {
    results.push_back(make_expected(type.dtype, evaluate_all(type.shape, evaluation.symbols),
                                    /*with_bounds=*/true));
    if (!is_decided) std::ranges::fill(results.back().bounds, kUndecided);
  }
  Expected& own = results[result_number(node)];
  if (!reference) return own;

  std::vector<std::vector<double>> exact;  // zero bounds for exact operands
  std::vector<OpaqueValue> inputs;
  std::vector<OpaqueArray> input_sizes;
  exact.reserve(evaluation.operands.size());
  for (const Expected* operand : evaluation.operands) {
    std::span<const double> bounds = operand->bounds;
    if (bounds.empty()) bounds = exact.emplace_back(static_cast<std::size_t>(operand->size()), 0.0);
    inputs.push_back({.dtype = operand->dtype,
                      .shape = operand->shape,
                      .reals = operand->reals,
                      .integers = operand->integers,
                      .bounds = bounds});
    input_sizes.push_back({.dtype = operand->dtype, .shape = operand->shape});
  }
  std::vector<OpaqueExpected> outputs;
  std::vector<OpaqueArray> output_sizes;
  for (Expected& result : results) {
    outputs.push_back({.dtype = result.dtype,
                       .shape = result.shape,
                       .reals = result.reals,
                       .integers = result.integers,
                       .bounds = result.bounds});
    output_sizes.push_back({.dtype = result.dtype, .shape = result.shape});
  }
  const std::vector<OpaqueAttribute> options = options_of(node);
  try {
    reference({.inputs = inputs,
                         .outputs = outputs,
                         .sizes = {.function = function_of(node),
                                   .inputs = input_sizes,
                                   .outputs = output_sizes,
                                   .attributes = options}});
  } catch (const std::exception& error) {
    throw UserError(fmt::format("{}{}: its reference fails: {} (recorded at {})",
                                is_library(node.op) ? "" : "opaque ", function_of(node), error.what(), graph.location_text(&node)));
  }
  round_to_dtype(own);
  return std::move(own);
}

}  // namespace sinter
