// `sinter quantize`: turns a model with weights into one whose products have 8-bit operands.
#include "sinter/quantization.h"

#include "ir/graph/node.h"
#include "sinter/error.h"
#include "sinter/text.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/files/array_files.h"
#include "tools/sinter/files/device_arrays.h"
#include "tools/sinter/files/npy.h"
#include "tools/sinter/files/weights_folder.h"
#include "tools/sinter/output/format_numbers.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <list>
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
  std::string range = "min_max";
  double percentile = 99.99;
  bool per_tensor = false;
  bool symmetric = false;
  bool qdq = false;
  std::string device;
};

/// Sets of inputs to measure ranges on.
class Examples {
 public:
  Examples(const Graph& graph, const HostArrays& inputs, Device device) {
    const std::int64_t count = examples_in(graph, inputs);
    for (std::int64_t i = 0; i < count; ++i) {
      DeviceArrays& arrays = arrays_.emplace_back(device);
      for (const auto& [name, array] : inputs)
        arrays.add(graph, name, has_example_axis(graph, name, array) ? part(array, i) : array);
      bindings_.push_back(arrays.bindings());
    }
  }
  std::span<const std::vector<Binding>> bindings() const { return bindings_; }

 private:
  static bool has_example_axis(const Graph& graph, const std::string& name,
                               const HostArray& array) {
    const auto input = std::ranges::find(graph.data().inputs, name, &InputInfo::name);
    return static_cast<int>(array.shape().size()) == input->node->rank() + 1;
  }

  static std::int64_t examples_in(const Graph& graph, const HostArrays& inputs) {
    if (inputs.empty()) return 0;
    std::optional<std::int64_t> count;
    std::string first;
    for (const auto& [name, array] : inputs) {
      if (!has_example_axis(graph, name, array)) continue;
      const std::int64_t own = array.shape()[0];
      if (count && *count != own)
        throw UsageError(
            fmt::format("--inputs: {} has {} examples along its first axis, and {} has {}", first,
                        *count, name, own));
      count = own;
      first = name;
    }
    return count.value_or(1);
  }

  /// Element `index` along the first axis.
  static HostArray part(const HostArray& all, std::int64_t index) {
    HostArray result(all.dtype(), {all.shape().begin() + 1, all.shape().end()});
    HostArray in_order(all.dtype(), {all.shape().begin(), all.shape().end()});
    copy_elements(all, in_order);
    const std::span<std::byte> bytes = result.bytes();
    std::ranges::copy(
        in_order.bytes().subspan(static_cast<std::size_t>(index) * bytes.size(), bytes.size()),
        bytes.begin());
    return result;
  }

  std::list<DeviceArrays> arrays_;
  std::vector<std::vector<Binding>> bindings_;
};

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
HostArrays new_weights(const PrecomputedGraph& model, const HostArrays& old, Device device) {
  HostArrays result;
  if (!model.weights.data().outputs.empty()) {
    DeviceArrays arrays(device);
    for (const InputInfo& input : model.weights.data().inputs)
      arrays.add(model.weights, input.name, old.at(input.name));
    Context context = compile(model.weights, device).context();
    const Stream stream = device.stream();
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
                                  const Examples& examples, Device device) {
  DeviceArrays arrays(device);
  for (const auto& [name, array] : weights) arrays.add(graph, name, array);
  Context context = compile(graph, device).with_weights(arrays.bindings()).context();
  const Stream stream = device.stream();
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

void print_skipped(const std::vector<SkippedProduct>& skipped) {
  for (const SkippedProduct& product : skipped)
    fmt::print("{} stays as it was: {}\n", product.value, product.reason);
}

[[noreturn]] void fail_without_products(const QuantizeArguments& arguments,
                                        const std::vector<SkippedProduct>& skipped) {
  std::string why = skipped.empty() ? "it has no floating matrix product or convolution"
                                    : fmt::format("{}: {}", skipped[0].value, skipped[0].reason);
  if (!skipped.empty() && arguments.inputs.empty())
    why += "; --inputs NAME=FILE gives examples to measure ranges on";
  throw UserError(fmt::format("{}: no product can be quantised: {}", arguments.file, why));
}

void quantize_to_files(const QuantizeArguments& arguments) {
  const Graph graph = read_graph(arguments.file);
  const fs::path text = fs::path(arguments.folder) / fs::path(arguments.file).filename();
  std::error_code error;
  if (fs::equivalent(text, arguments.file, error))
    throw UsageError(fmt::format("-o {}: it is the folder of {}, which would be overwritten",
                                 arguments.folder, arguments.file));
  const Device device = device_named(arguments.device);
  HostArrays weights;
  read_weights(graph, arguments.file, weights);
  if (weights.empty())
    throw UsageError(fmt::format("{}: there are no weights in {}", arguments.file,
                                 weights_folder(arguments.file).string()));
  const std::vector<std::string> names = array_names(weights);
  const Examples examples(graph, read_inputs(graph, arguments.inputs), device);
  std::vector<ValueRange> ranges;
  if (!examples.bindings().empty()) {
    DeviceArrays bound(device);
    for (const auto& [name, array] : weights) bound.add(graph, name, array);
    ranges = calibrate(
        graph, device.stream(), bound.bindings(), examples.bindings(),
        {.method = arguments.range == "percentile" ? RangeMethod::percentile : RangeMethod::min_max,
         .percentile = arguments.percentile});
  }
  QuantizedGraph quantized = quantize_products(graph, names, ranges,
                                               {.dtype = arguments.dtype == "i8" ? i8 : f8e4m3,
                                                .per_axis = !arguments.per_tensor,
                                                .zero_points = !arguments.symmetric});
  print_skipped(quantized.skipped);
  int products = quantized.products;
  if (!arguments.qdq) {
    std::vector<SkippedProduct> skipped = std::move(quantized.skipped);
    quantized = fold_dequantization(quantized.graph);
    print_skipped(quantized.skipped);
    products = quantized.products;
    if (quantized.skipped.empty()) quantized.skipped = std::move(skipped);
  }
  if (products == 0) fail_without_products(arguments, quantized.skipped);
  const PrecomputedGraph model = precompute(quantized.graph, names);
  const HostArrays stored = new_weights(model, weights, device);
  ModelWriter writer(text);
  for (const auto& [name, array] : stored) writer.add_weight(name, array);
  writer.finish(fmt::format("// Quantised from {}.\n{}",
                            fs::path(arguments.file).filename().string(), print(model.graph)));
  fmt::print("{}: {} in {}\n", text.string(), counted(products, "product"),
             arguments.qdq ? arguments.dtype + ", as quantize and dequantize" : "8 bits");
  fmt::print("{}: {} of {}, which were {}\n", weights_folder(text).string(),
             counted(static_cast<std::int64_t>(stored.size()), "weight"),
             bytes_text(bytes_of(stored)), bytes_text(bytes_of(weights)));
  if (!examples.bindings().empty())
    print_errors(graph, results_of(graph, weights, examples, device),
                 results_of(model.graph, stored, examples, device));
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
  static constexpr const char* kRanges[] = {"min_max", "percentile"};
  command.add_option("--range", arguments->range, "How ranges follow from the examples")
      ->check(one_of(kRanges))
      ->type_name("METHOD")
      ->capture_default_str();
  command
      .add_option("--percentile", arguments->percentile,
                  "The share of elements within a range, for --range percentile")
      ->check(CLI::Range(50.0, 100.0))
      ->type_name("NUMBER")
      ->capture_default_str();
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
