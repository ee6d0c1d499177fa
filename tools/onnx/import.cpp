#include "tools/onnx/import.h"

#include "ir/graph/node.h"
#include "sinter/error.h"
#include "tools/onnx/importer/inputs.h"
#include "tools/onnx/importer/node_importer.h"
#include "tools/onnx/model/decode.h"
#include "tools/onnx/model/element_type.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// Reserves names for the outputs. An output that is an input has the input's name.
void name_outputs(const GraphProto& graph, Recording& recording, InterfaceNames& names) {
  for (const ValueInfoProto& output : graph.output)
    if (!names.contains(output.name)) names.emplace(output.name, recording.names.add(output.name));
}

/// Throws UserError unless `tensor` has the element type that the model declares for the output.
void check_output(const ValueInfoProto& output, const Tensor& tensor) {
  if (!output.type.tensor_type || output.type.tensor_type->elem_type == 0) return;
  const std::int32_t declared = output.type.tensor_type->elem_type;
  if (dtype_of(declared) != tensor.dtype())
    throw UserError(fmt::format("the model declares {} for it, but its nodes compute {}",
                                element_type_name(declared), name(tensor.dtype())));
}

void add_outputs(const GraphProto& graph, const Scope& scope, ImportState& state) {
  if (graph.output.empty()) state.problems.add("the graph", "it has no outputs");
  for (const ValueInfoProto& output : graph.output) {
    const std::string where = fmt::format("output '{}'", shown_name(output.name));
    try {
      const ValueRef value = scope.find(output.name);
      if (!value) throw UserError("nothing defines it");
      if (value->is_failed) continue;
      const Tensor tensor = state.recording.tensor(*value);
      check_output(output, tensor);
      state.recording.graph.output(state.names.at(output.name), tensor);
    } catch (const UserError& error) {
      state.problems.add(where, error.what());
    }
  }
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw UserError("it is a directory");
  std::ifstream stream(path, std::ios::binary);
  std::string bytes;
  if (stream) bytes.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream && !stream.eof()) throw UserError(std::strerror(errno));
  return bytes;
}

}  // namespace

ImportedModel import_model(std::string_view bytes, const std::filesystem::path& folder,
                           const ImportOptions& options) {
  const ModelProto model = decode_model(bytes);
  if (!model.graph) throw UserError("it has no graph; it is damaged, or is no ONNX model");
  const Opsets opsets = checked_opsets(model.opset_import);
  const FunctionTable functions(model.functions);

  Recording recording(model.graph->name.empty() ? "model" : short_legal_name(model.graph->name));
  Problems problems;
  Scope scope;
  Dimensions dimensions(options.dims);
  InterfaceNames names;
  ImportState state{.recording = recording,
                    .problems = problems,
                    .functions = functions,
                    .folder = folder,
                    .names = names};
  // Initialisers come first, because those with the name of an input are its default.
  add_initializers(state, *model.graph, scope, "");
  add_inputs(*model.graph, model.ir_version, dimensions, options.constants, state, scope);
  dimensions.check_all_used();
  name_outputs(*model.graph, recording, names);
  import_nodes(state, model.graph->node, scope, {.opsets = opsets});
  add_outputs(*model.graph, scope, state);
  problems.throw_if_any();

  std::vector<RenamedValue> renamed;
  for (const auto& [in_model, in_text] : names)
    if (in_model != in_text) renamed.push_back({std::string(in_model), in_text});
  return {.graph = std::move(recording.graph),
          .weights = std::move(recording.weights),
          .renamed = std::move(renamed)};
}

ImportedModel import_model(const std::filesystem::path& path, const ImportOptions& options) {
  try {
    return import_model(read_file(path), path.parent_path(), options);
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace sinter::onnx
