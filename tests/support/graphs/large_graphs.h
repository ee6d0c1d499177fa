// Graphs of any number of nodes, for tests of how compile time and memory grow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/node.h"
#include "sinter/nn.h"
#include "sinter/ops.h"

namespace sinter::test {

/// A chain of elementwise ops of one shape.
inline Graph long_chain(std::size_t nodes) {
  Graph graph("chain");
  const Tensor x = graph.input("x", f32, {1024, 1024});
  const Tensor bias = graph.input("bias", f32, {1024});
  Tensor y = x;
  while (graph.data().nodes.size() < nodes) y = exp(tanh(y + bias) * x);
  graph.output("y", y);
  return graph;
}

/// Short expressions that are independent of one another.
inline Graph many_expressions(std::size_t nodes) {
  Graph graph("wide");
  for (int i = 0; graph.data().nodes.size() < nodes; ++i) {
    const Tensor x = graph.input("x" + std::to_string(i), f32, {256, 1024});
    graph.output("y" + std::to_string(i), sqrt(exp(tanh(x) * 0.5) + 1));
  }
  return graph;
}

/// Layers of norm, residual and activation. The matrix products between them are inputs.
inline Graph many_layers(std::size_t nodes) {
  Graph graph("layers");
  const Extent rows = graph.extent("rows");
  Tensor x = graph.input("x", bf16, {rows, 1024});
  for (int i = 0; graph.data().nodes.size() < nodes; ++i) {
    const std::string number = std::to_string(i);
    const Tensor attention = graph.input("attention" + number, bf16, {rows, 1024});
    const Tensor weight = graph.input("weight" + number, bf16, {1024});
    x = x + attention;
    const Tensor h = cast(x, f32);
    const Tensor scale = rsqrt(mean(h * h, {-1}, Keep::yes) + 1e-6);
    graph.output("normed" + number, cast(h * scale, bf16) * weight);
    const Tensor up = graph.input("up" + number, bf16, {rows, 4096});
    const Tensor gate = graph.input("gate" + number, bf16, {rows, 4096});
    graph.output("hidden" + number, silu(gate) * up);
    x = x + graph.input("down" + number, bf16, {rows, 1024});
  }
  graph.output("y", x);
  return graph;
}

/// Ops and row reductions. Their operands are mostly recent values, and sometimes any earlier
/// value.
inline Graph random_dag(std::size_t nodes) {
  constexpr std::size_t kRecent = 32;
  Graph graph("random");
  std::vector<Tensor> values = {graph.input("x", f32, {64, 256}), graph.input("y", f32, {64, 256}),
                                graph.input("z", f32, {64, 256})};
  std::vector<bool> is_used = {true, true, true};
  std::size_t oldest_unused = 0;
  std::uint32_t state = 1;
  const auto random = [&](std::size_t below) {
    state = state * 1664525 + 1013904223;
    return static_cast<std::size_t>(state >> 8) % below;
  };
  const auto any_value = [&] {
    while (oldest_unused < values.size() && is_used[oldest_unused]) ++oldest_unused;
    std::size_t at = values.size() - 1 - random(std::min(kRecent, values.size()));
    if (random(16) == 0) at = random(values.size());
    // No value stays unused for long.
    if (values.size() - oldest_unused > kRecent) at = oldest_unused;
    is_used[at] = true;
    return values[at];
  };
  while (graph.data().nodes.size() < nodes) {
    const Tensor a = any_value();
    const std::size_t kind = random(8);
    if (kind == 0) values.push_back(a - mean(a, {-1}, Keep::yes));
    if (kind == 1) values.push_back(tanh(a));
    if (kind == 2 || kind == 3) values.push_back(a * any_value());
    if (kind > 3) values.push_back(a + any_value());
    is_used.push_back(false);
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!is_used[i]) graph.output("out" + std::to_string(i), values[i]);
  return graph;
}

struct GraphFamily {
  std::string_view name;
  Graph (*record)(std::size_t nodes);  ///< records a graph of at least `nodes` nodes
  std::vector<std::int64_t> symbols;   ///< the symbol values to plan for
};

inline std::vector<GraphFamily> graph_families() {
  return {{"chain", long_chain, {}},
          {"wide", many_expressions, {}},
          {"layers", many_layers, {4096}},
          {"random", random_dag, {}}};
}

}  // namespace sinter::test
