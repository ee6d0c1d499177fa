// `sinter import`: turns an ONNX model into a graph in text form and a folder of weights.
#include "tools/onnx/import.h"
#include "ir/graph/node.h"
#include "ir/text/lexer.h"
#include "sinter/error.h"
#include "sinter/text.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/files/weights_folder.h"
#include "tools/sinter/output/format_numbers.h"

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

namespace fs = std::filesystem;

struct ImportArguments {
  std::string file;
  std::string folder = ".";
  std::vector<std::string> dims;  ///< `batch=8`
};

std::map<std::string, std::int64_t> sizes_of(const std::vector<std::string>& words) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    std::int64_t size = -1;
    const char* const end = word.data() + word.size();
    if (equals != word.npos && equals > 0) {
      const auto [stop, error] = std::from_chars(word.data() + equals + 1, end, size);
      if (error != std::errc{} || stop != end) size = -1;
    }
    if (size < 0)
      throw UsageError(fmt::format(
          "--dim {}: expected NAME=NUMBER with a whole number from 0 up, such as batch=8", word));
    if (!sizes.emplace(word.substr(0, equals), size).second)
      throw UsageError(
          fmt::format("--dim {}: the size of {} is given twice", word, word.substr(0, equals)));
  }
  return sizes;
}

std::string text_of(const onnx::ImportedModel& model, const fs::path& source) {
  std::string text = fmt::format("// Imported from {}.\n", printable(source.filename().string()));
  for (const onnx::RenamedValue& value : model.renamed)
    text += fmt::format("// {} is called \"{}\" there.\n", value.in_text,
                        onnx::shown_name(value.in_model));
  return text + print(model.graph);
}

void print_summary(const onnx::ImportedModel& model, const fs::path& text,
                   const fs::path& weights) {
  const GraphData& graph = model.graph.data();
  const std::size_t inputs = graph.inputs.size() - model.weights.size();
  fmt::print("{}: {}, {}\n", text.string(), counted(static_cast<std::int64_t>(inputs), "input"),
             counted(static_cast<std::int64_t>(graph.outputs.size()), "output"));
  if (model.weights.empty()) return;
  std::int64_t bytes = 0;
  for (const onnx::Weight& weight : model.weights)
    bytes += static_cast<std::int64_t>(weight.array->bytes().size());
  fmt::print("{}: {}, {}\n", weights.string(),
             counted(static_cast<std::int64_t>(model.weights.size()), "weight"), bytes_text(bytes));
}

void import_to_files(const ImportArguments& arguments) {
  const fs::path source = arguments.file;
  std::error_code error;
  if (!fs::exists(source, error))
    throw UsageError(fmt::format("{} cannot be read: there is no such file", arguments.file));
  const onnx::ImportedModel model = onnx::import_model(source, {.dims = sizes_of(arguments.dims)});
  const fs::path text = fs::path(arguments.folder) / (source.stem().string() + ".sinter");
  ModelWriter writer(text);
  for (const onnx::Weight& weight : model.weights) writer.add_weight(weight.name, *weight.array);
  writer.finish(text_of(model, source));
  print_summary(model, text, weights_folder(text));
}

}  // namespace

void declare_import(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App& command =
      *app.add_subcommand("import", "Turn an ONNX model into a graph in text form and its weights");
  command.add_option("FILE", arguments->file, "A model, MODEL.onnx, of operator sets 1 to 28")
      ->type_name("")
      ->required();
  command
      .add_option("-o,--output", arguments->folder,
                  "The folder for MODEL.sinter and, with the weights, MODEL.weights/NAME.npy. "
                  "`sinter run` reads the weights from there")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("--dim", arguments->dims,
                  "Sizes of symbolic dimensions; the others become symbols of the graph")
      ->type_name("NAME=NUMBER")
      ->delimiter(',');
  command.footer(
      "Example:\n  sinter import mlp.onnx -o mlp --dim batch=8\n  sinter run mlp/mlp.sinter");
  set_action(command, action, arguments, import_to_files);
}

}  // namespace sinter::command
