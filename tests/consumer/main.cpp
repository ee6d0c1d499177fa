// A minimal project that uses an installed sinter. It runs c = a + b, and checks that an error
// message names the file and line of a mistake.
#include <sinter/sinter.h>

#include <cstdio>
#include <string_view>
#include <vector>

int main() {
  sinter::Graph graph("add");
  const sinter::Extent rows = graph.extent("rows");
  const sinter::Tensor a = graph.input("a", sinter::f32, {rows, 2});
  const sinter::Tensor b = graph.input("b", sinter::f32, {2});
  graph.output("c", a + b);
  const sinter::Device device = sinter::host_device();
  const sinter::Stream stream = device.stream();
  const sinter::Array as = device.empty(sinter::f32, {3, 2}), bs = device.empty(sinter::f32, {2});
  device.upload(as, std::vector<float>{1, 2, 3, 4, 5, 6}, stream);
  device.upload(bs, std::vector<float>{10, 20}, stream);
  sinter::Context context = sinter::compile(graph, device).context();
  const sinter::Outputs outputs = context.run(stream, {{"a", as}, {"b", bs}});
  const std::vector<float> expected = {11, 22, 13, 24, 15, 26};
  if (device.download<float>(outputs["c"], stream) != expected) return 1;
  try {
    graph.output("d", a + graph.input("e", sinter::f32, {65}));
  } catch (const sinter::UserError& error) {
    std::puts(error.what());
    return std::string_view(error.what()).find("main.cpp:25") == std::string_view::npos;
  }
  return 1;
}
