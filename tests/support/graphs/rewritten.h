// Applies a pass to a graph in text form and returns the text of the result.
#pragma once

#include "compiler/simplify/graph_sweep.h"
#include "ir/verify/verify.h"
#include "sinter/text.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The text of a graph with `inputs` in its head, and `statements` separated by semicolons.
inline std::string graph_text(std::string_view inputs, std::string_view statements) {
  std::string text = "graph g(" + std::string(inputs) + ") {\n" + std::string(statements) + "\n}\n";
  std::ranges::replace(text, ';', '\n');
  return text;
}

/// Verifies a graph and returns the text of its statements.
inline std::string statements_of(const Graph& graph) {
  verify(graph);
  const std::string result = print(graph);
  const std::size_t begin = result.find(") {\n") + 4;
  return result.substr(begin, result.rfind('}') - begin);
}

/// The text of the statements of a graph after `pass`.
inline std::string rewritten(const std::string& text, const std::function<void(GraphData&)>& pass) {
  Graph graph = clone(parse(text));
  pass(graph.data());
  return statements_of(graph);
}

}  // namespace sinter
