// `sinter quantize`: turns a model with weights into one whose products have 8-bit operands.
#include "sinter/quantization.h"

#include "ir/graph/node.h"
#include "sinter/error.h"
#include "sinter/text.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/files/array_files.h"
#include "tools/sinter/files/device_arrays.h"
#include "tools/sinter/files/examples.h"
#include "tools/sinter/files/weights_folder.h"
#include "tools/sinter/output/format_numbers.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace sinter::command {

namespace {

namespace fs = std::filesystem;

struct QuantizeArguments {
  std::string file;
  std::string folder;
  std::vector<std::string> inputs;
  std::string dtype = "i8";
  std::optional<double> percentile;
  bool per_tensor = false;
  bool symmetric = false;
  bool qdq = false;
  std::string device;
};

/// The arrays of a model that may be quantised or combined before any run.
struct ModelArrays {
  HostArrays weights;
  HostArrays others;  ///< that runs update, and whole numbers such as a random seed
};

ModelArrays split_arrays(const Graph& graph, HostArrays arrays) {
  ModelArrays result;
  for (const InputInfo& input : graph.data().inputs) {
    auto found = arrays.extract(input.name);
    if (!found) continue;
    const Node& node = *input.node;
    const bool is_updated = std::ranges::find(graph.data().updates, &node,
                                              &UpdateInfo::parameter) != graph.data().updates.end();
    const bool is_whole_number =
        node.rank() == 0 && is_integer(node.dtype) && size_of(node.dtype) >= 4;
    (is_updated || is_whole_number ? result.others : result.weights).insert(std::move(found));
  }
  return result;
}

std::int64_t bytes_of(const HostArrays& arrays) {
  std::int64_t bytes = 0;
  for (const auto& [name, array] : arrays) bytes += static_cast<std::int64_t>(array.bytes().size());
  return bytes;
}

std::vector<std::string> array_names(const HostArrays& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays) names.push_back(name);
  return names;
}

/// The weights of `model.graph`: new ones, and those of `old` that it still reads.
HostArrays new_weights(const PrecomputedGraph& model, const HostArrays& old, const Stream& stream) {
  HostArrays result;
  if (!model.weights.data().outputs.empty()) {
    DeviceArrays arrays(stream);
    for (const InputInfo& input : model.weights.data().inputs)
      arrays.add(model.weights, input.name, old.at(input.name));
    Context context = compile(model.weights, stream.device()).context();
    const Outputs outputs = context.run(stream, arrays.bindings());
    for (const OutputInfo& output : model.weights.data().outputs)
      result.emplace(output.name, downloaded(outputs[output.name], stream));
  }
  for (const InputInfo& input : model.graph.data().inputs)
    if (const auto found = old.find(input.name); found != old.end()) result.insert(*found);
  return result;
}

/// The outputs of all examples.
std::vector<HostArray> results_of(const Graph& graph, const HostArrays& weights,
                                  const Examples& examples, const Stream& stream) {
  DeviceArrays arrays(stream);
  for (const auto& [name, array] : weights) arrays.add(graph, name, array);
  Context context = compile(graph, stream.device()).with_weights(arrays.bindings()).context();
  std::vector<HostArray> results;
  for (const std::vector<Binding>& example : examples.bindings()) {
    const Outputs outputs = context.run(stream, example);
    for (int i = 0; i < outputs.size(); ++i) results.push_back(downloaded(outputs[i], stream));
  }
  return results;
}

/// Prints how far floating outputs moved, over all examples.
void print_errors(const Graph& graph, std::span<const HostArray> before,
                  std::span<const HostArray> after) {
  const std::vector<OutputInfo>& outputs = graph.data().outputs;
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    if (!is_floating(outputs[output].node->dtype)) continue;
    double largest_error = 0, largest = 0, squares = 0, squared_errors = 0;
    for (std::size_t i = output; i < before.size(); i += outputs.size())
      for (std::int64_t element = 0; element < before[i].size(); ++element) {
        const double value = before[i].real_at(element);
        const double error = std::abs(after[i].real_at(element) - value);
        largest = std::max(largest, std::abs(value));
        largest_error = std::max(largest_error, error);
        squares += value * value;
        squared_errors += error * error;
      }
    fmt::print("{}: largest error {:.3g} of values up to {:.3g}, root mean square error {:.2g} %\n",
               outputs[output].name, largest_error, largest,
               squares > 0 ? 100 * std::sqrt(squared_errors / squares) : 0.0);
  }
}

[[noreturn]] void fail_without_products(const QuantizeArguments& arguments,
                                        const std::vector<SkippedProduct>& skipped) {
  std::string why = skipped.empty() ? "it has no floating matrix product or convolution"
                                    : fmt::format("{}: {}", skipped[0].value, skipped[0].reason);
  if (!skipped.empty() && arguments.inputs.empty())
    why += "; --inputs NAME=FILE gives examples to measure ranges on";
  throw UserError(fmt::format("{}: no product can be quantised: {}", arguments.file, why));
}

/// Throws UsageError if the new model would overwrite the old one.
void require_other_folder(const QuantizeArguments& arguments, const fs::path& text) {
  std::error_code error;
  if (fs::equivalent(text, arguments.file, error) ||
      fs::equivalent(weights_folder(text), weights_folder(arguments.file), error))
    throw UsageError(fmt::format("-o {}: it is the folder of {}, which would be overwritten",
                                 arguments.folder, arguments.file));
}

std::vector<ValueRange> measured_ranges(const QuantizeArguments& arguments, const Graph& graph,
                                        const HostArrays& weights, const Examples& examples,
                                        const Stream& stream) {
  if (examples.bindings().empty()) return {};
  DeviceArrays bound(stream);
  for (const auto& [name, array] : weights) bound.add(graph, name, array);
  CalibrationOptions options;
  if (arguments.percentile)
    options = {.method = RangeMethod::percentile, .percentile = *arguments.percentile};
  return calibrate(graph, stream, bound.bindings(), examples.bindings(), options);
}

/// The graph with changed products. Prints those that stay.
QuantizedGraph quantized_graph(const QuantizeArguments& arguments, const Graph& graph,
                               std::span<const std::string> weights,
                               std::span<const ValueRange> ranges) {
  QuantizedGraph result = quantize_products(graph, weights, ranges,
                                            {.dtype = arguments.dtype == "i8" ? i8 : f8e4m3,
                                             .per_axis = !arguments.per_tensor,
                                             .zero_points = !arguments.symmetric});
  if (!arguments.qdq) {
    std::vector<SkippedProduct> skipped = std::move(result.skipped);
    result = fold_dequantization(result.graph);
    std::ranges::move(result.skipped, std::back_inserter(skipped));
    result.skipped = std::move(skipped);
  }
  for (const SkippedProduct& product : result.skipped)
    fmt::print("{} stays as it was: {}\n", product.value, product.reason);
  if (result.products == 0) fail_without_products(arguments, result.skipped);
  return result;
}

void quantize_to_files(const QuantizeArguments& arguments) {
  const Graph graph = read_graph(arguments.file);
  const fs::path text = fs::path(arguments.folder) / fs::path(arguments.file).filename();
  require_other_folder(arguments, text);
  HostArrays arrays;
  read_weights(graph, arguments.file, arrays);
  const ModelArrays old = split_arrays(graph, std::move(arrays));
  if (old.weights.empty())
    throw UsageError(fmt::format("{}: there are no weights in {}, which needs NAME.npy for each",
                                 arguments.file, weights_folder(arguments.file).string()));
  const std::vector<std::string> names = array_names(old.weights);
  const HostArrays inputs = read_inputs(graph, arguments.inputs);
  for (const auto& [name, array] : inputs)
    if (old.weights.contains(name))
      throw UsageError(fmt::format("--inputs {}: it is a weight; remove {} if it is an example",
                                   name,
                                   (weights_folder(arguments.file) / (name + ".npy")).string()));
  HostArrays others = old.others;
  for (const auto& [name, array] : inputs) others.erase(name);
  const Stream stream = device_named(arguments.device).stream();
  const auto examples = [&] { return Examples(graph, inputs, others, stream); };
  const std::vector<ValueRange> ranges =
      measured_ranges(arguments, graph, old.weights, examples(), stream);
  const QuantizedGraph quantized = quantized_graph(arguments, graph, names, ranges);
  const PrecomputedGraph model = precompute(quantized.graph, names);
  const HostArrays stored = new_weights(model, old.weights, stream);
  ModelWriter writer(text);
  for (const HostArrays* const all : {&stored, &old.others})
    for (const auto& [name, array] : *all) writer.add_weight(name, array);
  writer.finish(fmt::format("// Quantised from {}.\n{}",
                            fs::path(arguments.file).filename().string(), print(model.graph)));
  fmt::print("{}: {} in {}\n", text.string(), counted(quantized.products, "product"),
             arguments.qdq ? arguments.dtype + ", as quantize and dequantize" : "8 bits");
  fmt::print("{}: {} of {}, which were {}\n", weights_folder(text).string(),
             counted(static_cast<std::int64_t>(stored.size()), "weight"),
             bytes_text(bytes_of(stored)), bytes_text(bytes_of(old.weights)));
  if (!inputs.empty())
    print_errors(graph, results_of(graph, old.weights, examples(), stream),
                 results_of(model.graph, stored, examples(), stream));
}

}  // namespace

void declare_quantize(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<QuantizeArguments>();
  CLI::App& command = *app.add_subcommand(
      "quantize", "Turn a model with weights into one with products of 8-bit operands");
  command
      .add_option("FILE", arguments->file,
                  "A graph in text form, with its weights in the folder MODEL.weights beside it")
      ->type_name("")
      ->required();
  command.add_option("-o,--output", arguments->folder, "The folder for the new model")
      ->type_name("DIR")
      ->required();
  command
      .add_option(
          "--inputs", arguments->inputs,
          "Inputs from .npy files, on which ranges are measured. An array with one more "
          "axis in front has several examples. A model that is quantised already needs none")
      ->type_name("NAME=FILE")
      ->allow_extra_args();
  static constexpr const char* kDtypes[] = {"i8", "f8e4m3"};
  command
      .add_option("--dtype", arguments->dtype, "The 8-bit dtype; f8e4m3 for matrix products only")
      ->check(one_of(kDtypes))
      ->type_name("DTYPE")
      ->capture_default_str();
  command
      .add_option("--percentile", arguments->percentile,
                  "The percentage of elements within a range; default: all elements")
      ->check(CLI::Range(50.0, 100.0))
      ->type_name("NUMBER");
  command.add_flag("--per-tensor", arguments->per_tensor,
                   "One scale per weight, not one per column or filter");
  command.add_flag("--symmetric", arguments->symmetric, "No zero points");
  command.add_flag("--qdq", arguments->qdq,
                   "Keep floating products, of operands that are quantised and dequantised");
  add_device(command, arguments->device);
  command.footer(
      "Example:\n  sinter quantize mlp/mlp.sinter --inputs x=examples.npy -o mlp8\n"
      "  sinter run mlp8/mlp.sinter --inputs x=x.npy");
  set_action(command, action, arguments, quantize_to_files);
}

}  // namespace sinter::command
