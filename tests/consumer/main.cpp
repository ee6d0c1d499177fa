// What a project that installed sinter writes first: c = a + b, and an error that says what is
// wrong.
#include <sinter/error.h>
#include <sinter/graph.h>
#include <sinter/ops.h>

#include <cstdio>

int main() {
  sinter::Graph graph("add");
  const sinter::Extent rows = graph.extent("rows");
  const sinter::Tensor a = graph.input("a", sinter::f32, {rows, 64});
  const sinter::Tensor b = graph.input("b", sinter::f32, {64});
  graph.output("c", a + b);
  try {
    graph.output("d", a + graph.input("e", sinter::f32, {65}));
  } catch (const sinter::UserError& error) {
    std::puts(error.what());
    return 0;
  }
  return 1;
}
