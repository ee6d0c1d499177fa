// Compiles a program, saves its kernels to a file, and loads and runs the file, as on another
// machine. Loading needs no compiler.
#include <sinter/sinter.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include <unistd.h>

namespace {

constexpr int kColumns = 256;

/// On the machine that builds the program.
void save(const std::string& file) {
  sinter::Graph graph("softmax");
  const sinter::Extent rows = graph.extent("rows");
  const sinter::Tensor x = graph.input("x", sinter::f32, {rows, kColumns});
  const sinter::Tensor e = exp(x - max(x, {-1}, sinter::keep));
  graph.output("y", e / sum(e, {-1}, sinter::keep));

  const sinter::Executable softmax = sinter::compile(graph, sinter::default_device());
  softmax.prepare({{"rows", 1000}});  // for all sizes of this size class
  softmax.save(file);                 // for this device; {.archs = {"sm_80", "sm_90"}} for others
  std::printf("%s: %ju bytes\n", file.c_str(),
              static_cast<std::uintmax_t>(std::filesystem::file_size(file)));
}

/// On the machine that runs it.
bool run(const std::string& file) {
  const sinter::Device device = sinter::default_device();
  const sinter::Executable softmax = sinter::load(file, device);
  const sinter::Stream stream = device.stream();
  const sinter::Array x = device.empty(sinter::f32, {1200, kColumns});
  device.upload(x, std::vector<float>(1200 * kColumns, 3.0F), stream);
  sinter::Context context = softmax.context();
  const sinter::Outputs outputs = context.run(stream, {{"x", x}});
  const float y = device.download<float>(outputs["y"], stream)[77];
  std::printf("1200 rows on %s: y = %g\n", std::string(device.name()).c_str(), y);
  return y == 1.0F / kColumns;
}

}  // namespace

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("sinter-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "softmax.sinterx";
  save(file);
  const bool is_right = run(file);
  std::filesystem::remove_all(folder);
  return is_right ? 0 : 1;
}
