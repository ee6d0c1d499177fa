// Records, compiles and runs c = a + b.
#include <sinter/sinter.h>

#include <cstdio>
#include <vector>

int main() {
  sinter::Graph graph("hello");
  const sinter::Extent size = graph.extent("size");
  const sinter::Tensor a = graph.input("a", sinter::f32, {size});
  const sinter::Tensor b = graph.input("b", sinter::f32, {size});
  graph.output("c", a + b);

  const sinter::Device device = sinter::default_device();
  const sinter::Executable add = sinter::compile(graph, device);
  const sinter::Stream stream = device.stream();

  const std::vector<float> a_values = {1, 2, 3, 4, 5};
  const std::vector<float> b_values = {10, 20, 30, 40, 50};
  const sinter::Array a_array = device.empty(sinter::f32, {5});
  const sinter::Array b_array = device.empty(sinter::f32, {5});
  device.upload(a_array, a_values, stream);
  device.upload(b_array, b_values, stream);

  sinter::Context context = add.context();
  const sinter::Outputs outputs = context.run(stream, {{"a", a_array}, {"b", b_array}});
  bool is_right = true;
  const std::vector<float> c = device.download<float>(outputs["c"], stream);
  for (std::size_t i = 0; i < c.size(); ++i) {
    std::printf("%g + %g = %g\n", a_values[i], b_values[i], c[i]);
    is_right = is_right && c[i] == a_values[i] + b_values[i];
  }
  return is_right ? 0 : 1;
}
