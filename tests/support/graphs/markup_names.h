// A graph whose names would be HTML markup if they were not escaped.
#pragma once

#include "sinter/graph.h"
#include "sinter/ops.h"

namespace sinter::test {

inline constexpr const char* kHostileGraph = "</title><script>complain('title')</script>";
inline constexpr const char* kHostileLabel = "</script><script>complain(\"label\")</script><!--";

inline Graph hostile_graph() {
  Graph graph(kHostileGraph);
  const Tensor x = graph.input("x & <b>", f32, {64, 256});
  const Tensor scaled = mul(x, 2.0F).label(kHostileLabel);
  graph.output("<img src=x onerror=\"complain('output')\">", exp(scaled));
  return graph;
}

}  // namespace sinter::test
