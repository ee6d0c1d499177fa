#include "tools/sinter/files/weights_folder.h"

#include "ir/graph/node.h"
#include "sinter/error.h"
#include "tools/sinter/files/npy.h"
#include "tools/sinter/files/text_file.h"

#include <system_error>

#include <fmt/format.h>

namespace sinter::command {

namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return;
  fs::create_directories(folder, error);
  if (error)
    throw UserError(
        fmt::format("{} cannot be created as a folder: {}", folder.string(), error.message()));
}

}  // namespace

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

ModelWriter::ModelWriter(const std::filesystem::path& graph_file) : graph_file_(graph_file) {
  make_folder(graph_file.parent_path());
  std::error_code error;
  fs::remove(graph_file, error);
  // Arrays of an older model would become the contents of inputs.
  for (const fs::directory_entry& entry : fs::directory_iterator(weights_folder(graph_file), error))
    if (entry.path().extension() == ".npy") fs::remove(entry.path(), error);
}

void ModelWriter::add_weight(const std::string& name, const HostArray& array) {
  const fs::path folder = weights_folder(graph_file_);
  make_folder(folder);
  write_npy((folder / (name + ".npy")).string(), array);
}

void ModelWriter::finish(const std::string& text) const {
  write_text_file(graph_file_.string(), text);
}

}  // namespace sinter::command
