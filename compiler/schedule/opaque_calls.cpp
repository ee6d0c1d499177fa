#include "compiler/schedule/opaque_calls.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/cost/cost.h"
#include "compiler/program/op_cost.h"
#include "compiler/simplify/graph_sweep.h"
#include "ir/record/opaque.h"
#include "ir/support/sort_unique.h"
#include "sinter/error.h"

namespace sinter {

namespace {

bool is_row_major_input(const Node& input) { return attribute(input, "strides").extents.empty(); }

/// Values whose readers use a buffer that is not row-major.
DenseSet<const Node*> nodes_not_row_major(const GraphData& graph) {
  DenseSet<const Node*> result;
  DenseSet<const Node*> seen;
  for (const OutputInfo& output : graph.outputs)
    // If a value is several outputs, readers use the first one.
    if (!output.is_unwritten && seen.insert(output.node).second && !output.strides.empty())
      result.insert(output.node);
  // Readers of a value that updates a parameter in place read the parameter.
  for (const UpdateInfo& update : graph.updates)
    if (!is_row_major_input(*update.parameter)) result.insert(update.value);
  return result;
}

/// A call writes each result to one buffer, so other outputs and updates get copies.
void copy_results(GraphData& graph) {
  DenseSet<const Node*> written;
  for (OutputInfo& output : graph.outputs) {
    if (output.is_unwritten || !is_opaque(*output.node)) continue;
    if (!output.strides.empty() || !written.insert(output.node).second)
      output.node = copy_of(graph, output.node);
  }
  for (UpdateInfo& update : graph.updates)
    if (is_opaque(*update.value)) update.value = copy_of(graph, update.value);
}

}  // namespace

void assign_call_buffers(GraphData& graph) {
  if (std::ranges::none_of(graph.nodes, [](const Node* node) { return is_opaque(*node); })) return;
  copy_results(graph);
  const DenseSet<const Node*> not_row_major = nodes_not_row_major(graph);
  sweep(graph, [&](const Node& node, std::span<const Node* const> operands) {
    llvm::SmallVector<const Node*, 4> own(operands.begin(), operands.end());
    if (is_opaque(node))
      for (std::size_t i = 0; i < own.size(); ++i) {
        const Node* operand = node.operand(i);
        const bool is_strided = operand->op == Op::input && !is_row_major_input(*operand);
        if (is_strided || not_row_major.contains(operand)) own[i] = copy_of(graph, own[i]);
      }
    return with_operands(graph, node, own);
  });
}

bool must_be_stored_for_call(const Node& operand) {
  return operand.op != Op::input && operand.op != Op::scalar;
}

std::string opaque_boundary(const Node& node) {
  return fmt::format("{} is {}: its operands and results are whole arrays in memory",
                     function_of(node), is_library(node.op) ? "a library op" : "an opaque call");
}

void schedule_call(const Program& program, Kernel& kernel, const Target& target) {
  const std::span<const std::int64_t> symbols = program.facts.symbols;
  const Node& call = *kernel.nodes.front();
  Cost cost;
  for (const Node* operand : call.operands)
    if (operand->op != Op::scalar) {
      const auto found = program.buffer_of.find(operand);
      ensure(found != program.buffer_of.end(), "a call reads a value that no kernel stores");
      kernel.reads.push_back(found->second);
    }
  sort_unique(kernel.reads);
  for (const int buffer : kernel.reads)
    cost.bytes_read +=
        static_cast<double>(bytes_of(program.buffers[static_cast<std::size_t>(buffer)], symbols));
  for (const ResultType& type : result_types(call))
    cost.bytes_written += bytes_of(product(type.shape), type.dtype, program.facts);
  kernel.bytes = cost.bytes_read + cost.bytes_written;
  kernel.seconds = seconds_of(cost, target);
  kernel.notes.emplace_back(
      "the work of a call is unknown: its predicted time counts only its bytes, at full bandwidth");
}

}  // namespace sinter
