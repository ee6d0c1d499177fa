// Text in, text out: what a pass makes of a graph.
#pragma once

#include "compiler/simplify/rewrite.h"
#include "ir/verify/verify.h"
#include "sinter/text.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The text of a graph: `inputs` as in its head, `statements` with semicolons for ends of lines.
inline std::string graph_text(std::string_view inputs, std::string_view statements) {
  std::string text = "graph g(" + std::string(inputs) + ") {\n" + std::string(statements) + "\n}\n";
  std::ranges::replace(text, ';', '\n');
  return text;
}

/// The statements of a graph that is as it must be.
inline std::string statements_of(const Graph& graph) {
  verify(graph);
  const std::string result = print(graph);
  const std::size_t begin = result.find(") {\n") + 4;
  return result.substr(begin, result.rfind('}') - begin);
}

/// The statements of a graph after `pass`.
inline std::string rewritten(const std::string& text, const std::function<void(GraphData&)>& pass) {
  Graph graph = clone(parse(text));
  pass(graph.data());
  return statements_of(graph);
}

}  // namespace sinter
