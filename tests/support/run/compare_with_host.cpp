#include "tests/support/run/compare_with_host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "ir/graph/node.h"
#include "ir/ops/op.h"
#include "ir/verify/symbol_sizes.h"

namespace sinter::test {

namespace {

/// True if devices agree on the bits of `op` for equal operands. A log-sum-exp has exponentials
/// inside, and nothing is known about functions of the user.
bool is_correctly_rounded(Op op) {
  const OpInfo& row = info(op);
  if (row.kind == OpKind::custom || row.kind == OpKind::opaque || row.kind == OpKind::library)
    return false;
  return row.ulp == 0 && op != Op::logsumexp;
}

/// [id]: true if the value of the node has the same bits on all devices.
std::vector<bool> exact_nodes(const GraphData& graph) {
  std::vector<bool> exact;
  for (const Node* node : graph.nodes)  // operands come first
    exact.push_back(is_correctly_rounded(node->op) &&
                    std::ranges::all_of(node->operands,
                                        [&](const Node* operand) { return exact[operand->id]; }));
  return exact;
}

std::string element_text(const HostArray& array, std::span<const std::int64_t> index) {
  return is_floating(array.dtype()) ? fmt::format("{}", array.real(index))
                                    : fmt::format("{}", array.integer(index));
}

}  // namespace

std::set<std::string> exact_results(const Graph& graph) {
  const GraphData& data = graph.data();
  const std::vector<bool> exact = exact_nodes(data);
  std::set<std::string> names;
  for (const OutputInfo& output : data.outputs)
    if (exact[output.node->id]) names.insert(output.name);
  for (const UpdateInfo& update : data.updates)
    for (const InputInfo& input : data.inputs)
      if (input.node == update.parameter && exact[update.value->id]) names.insert(input.name);
  return names;
}

void expect_host_bits(std::string_view device, const std::set<std::string>& names,
                      const HostArrays& ours, const HostArrays& theirs) {
  for (const std::string& name : names) {
    const HostArray& actual = ours.find(name)->second;
    const HostArray& expected = theirs.find(name)->second;
    if (const auto index = first_difference(actual, expected))
      ADD_FAILURE() << fmt::format("{}[{}] is {} on {}, but {} on the host device", name,
                                   fmt::join(*index, ", "), element_text(actual, *index), device,
                                   element_text(expected, *index));
  }
}

bool runs_unfused() {
  const char* const value = std::getenv("SINTER_TEST_UNFUSED");
  return !value || std::string_view(value) != "off";
}

RunResult run_and_compare_with_host(Device gpu, const Graph& graph, std::vector<Size> sizes,
                                    const CheckSettings& settings) {
  RunResult ours = run_and_check_on(gpu, graph, sizes, settings);
  const std::set<std::string> names = exact_results(graph);
  if (names.empty()) return ours;
  std::vector<NamedSize> named;
  for (const Size& size : sizes) named.push_back({size.symbol, size.value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, named);
  Options options = settings.options;
  options.tune = Tune::off;
  std::int64_t elements = 0;
  for (const auto& [name, values] : ours.inputs) elements += values.size();
  options.optimize_host = elements > 1 << 18;  // else compiling takes longer than running
  const RunResult theirs =
      run_graph(graph, host_device(), ours.inputs, {.symbols = symbols, .options = options});
  expect_host_bits(gpu.name(), names, ours.results, theirs.results);
  return ours;
}

}  // namespace sinter::test
