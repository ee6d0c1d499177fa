// Uses an installed sinter with MPI: the ranks add their arrays on host devices. It also checks
// that an error of libsinter_mpi.so is caught here, and that the library is never unloaded.
#include <sinter/sinter.h>

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <string_view>
#include <vector>

namespace {

/// True if dlclose keeps libsinter_mpi.so, of which MPI and exit call functions later.
bool is_never_unloaded() {
  void* const handle = dlopen(nullptr, RTLD_NOW);
  link_map* library = nullptr;
  dlinfo(handle, RTLD_DI_LINKMAP, &library);
  while (library &&
         std::string_view(library->l_name).find("/libsinter_mpi.so") == std::string_view::npos)
    library = library->l_next;
  for (const ElfW(Dyn)* one = library ? library->l_ld : nullptr; one && one->d_tag != DT_NULL;
       ++one)
    if (one->d_tag == DT_FLAGS_1) return (one->d_un.d_val & DF_1_NODELETE) != 0;
  return false;
}

}  // namespace

int main() {
  const sinter::Communicator data = sinter::Communicator::mpi();
  sinter::Graph graph("sum");
  const sinter::RankGroup group{.name = "data", .size = data.size()};
  const sinter::Tensor x = graph.input("x", sinter::f32, {3});
  graph.output("sum", sinter::all_reduce(x, group) * 2);
  const sinter::Device device = sinter::host_device();
  const sinter::Stream stream = device.stream();
  const sinter::Array xs = device.empty(sinter::f32, {3});
  const auto rank = static_cast<float>(data.rank());
  device.upload(xs, std::vector<float>{rank, 1, 10 * rank}, stream);
  const sinter::Executable executable = sinter::compile(graph, device);
  sinter::Context context = executable.context({{"data", data}});
  const sinter::Outputs outputs = context.run(stream, {{"x", xs}});
  const std::vector<float> sums = device.download<float>(outputs["sum"], stream);
  data.check();
  const auto ranks = static_cast<float>(data.size());
  const float sum_of_ranks = ranks * (ranks - 1) / 2;
  if (data.size() != 2 ||
      sums != std::vector<float>{2 * sum_of_ranks, 2 * ranks, 20 * sum_of_ranks})
    return 1;
  if (!is_never_unloaded()) {
    std::printf("libsinter_mpi.so can be unloaded while MPI still knows its functions\n");
    return 1;
  }
  try {
    sinter::Communicator::mpi(nullptr, sinter::MpiOptions{});
  } catch (const sinter::UserError& error) {
    std::printf("rank %d of %d: %s\n", data.rank(), data.size(), error.what());
    return std::string_view(error.what()).find("is null") == std::string_view::npos;
  }
  return 1;
}
