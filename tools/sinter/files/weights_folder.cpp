#include "tools/sinter/files/weights_folder.h"

#include "ir/graph/node.h"
#include "tools/sinter/files/npy.h"

#include <system_error>

namespace sinter::command {

std::filesystem::path weights_folder(const std::filesystem::path& graph_file) {
  return std::filesystem::path(graph_file).replace_extension(".weights");
}

void read_weights(const Graph& graph, const std::filesystem::path& graph_file, HostArrays& arrays) {
  const std::filesystem::path folder = weights_folder(graph_file);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return;
  for (const InputInfo& input : graph.data().inputs) {
    const std::filesystem::path file = folder / (input.name + ".npy");
    if (!arrays.contains(input.name) && std::filesystem::exists(file, error))
      arrays.emplace(input.name, read_npy(file.string(), input.node->dtype));
  }
}

}  // namespace sinter::command
