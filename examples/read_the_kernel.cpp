// Prints the result of each stage for a softmax: recorded graph, simplified graph, fused program,
// schedule, CUDA source, PTX and launch.
#include <sinter/sinter.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

namespace fs = std::filesystem;

/// Prints a dump file with its name, or only its size if it is binary.
void show(const fs::path& path) {
  std::printf("=== %s\n\n", path.filename().c_str());
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (path.extension() == ".cubin")
    std::printf("%zu bytes, for nvdisasm or cuobjdump\n\n", text.size());
  else
    std::printf("%s\n", text.c_str());
}

void show_facts(const sinter::KernelReport& kernel) {
  const auto gigabytes = [](std::int64_t bytes) { return static_cast<double>(bytes) * 1e-9; };
  std::printf("=== %s\n\n", kernel.name.c_str());
  std::printf("%s, %s\n", kernel.kind.c_str(), kernel.schedule.c_str());
  std::printf("%.3f GB read, %.3f GB written, at least %.3f GB needed\n",
              gigabytes(kernel.bytes_read), gigabytes(kernel.bytes_written),
              gigabytes(kernel.minimal_bytes));
  if (kernel.cubin.reason.empty())
    std::printf("%d registers, %d bytes spilled\n", kernel.registers, kernel.spill_bytes);
  else
    std::printf("not compiled for a GPU: %s\n", kernel.cubin.reason.c_str());
  for (std::size_t i = 0; i < kernel.nodes.size(); ++i)
    std::printf("  %-48s %s\n", kernel.nodes[i].c_str(), kernel.places[i].c_str());
}

}  // namespace

int main() {
  sinter::Graph graph("softmax");
  const sinter::Extent rows = graph.extent("rows");
  const sinter::Tensor x = graph.input("x", sinter::f32, {rows, 1024});
  graph.output("y", sinter::softmax(x));

  const fs::path folder =
      fs::temp_directory_path() / ("sinter-read-the-kernel-" + std::to_string(getpid()));
  const sinter::Device device = sinter::default_device();
  // Without tuning, so that there is one source and not a dozen. On the host device, NVRTC also
  // compiles for the GPU that kernels are planned for.
  const sinter::Executable softmax = sinter::compile(graph, device,
                                                     {.tune = sinter::Tune::off,
                                                      .dump = {"all"},
                                                      .dump_directory = folder.string(),
                                                      .also_nvrtc = device.is_host()});
  softmax.prepare({{"rows", 65536}});

  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry);
  std::ranges::sort(files);
  std::ranges::for_each(files, show);
  fs::remove_all(folder);
  for (const sinter::KernelReport& kernel : softmax.report().kernels) show_facts(kernel);
}
