#include "tests/onnx/judge/judge.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "ir/graph/node.h"
#include "ir/oracle/interpret.h"
#include "sinter/error.h"
#include "tests/onnx/judge/compare.h"
#include "tests/onnx/judge/exact.h"
#include "tests/onnx/judge/symbols.h"
#include "tests/support/run/compile_together.h"
#include "tests/support/run/run.h"
#include "tools/onnx/import.h"
#include "tools/onnx/model/decode.h"

namespace sinter::test {

namespace {

/// The inputs that a caller gives: those without an initialiser.
std::vector<std::string> given_inputs(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input)
    if (std::ranges::count(graph.initializer, input.name, &onnx::TensorProto::name) == 0)
      names.emplace_back(input.name);
  return names;
}

/// The message without the path of the model.
std::string without_path(std::string message, const OnnxCase& test) {
  const std::string path = test.model().string() + ": ";
  if (message.starts_with(path)) message.erase(0, path.size());
  return message;
}

std::string one_line(std::string text) {
  std::string result;
  for (const char c : text)
    if (c != '\n')
      result += c;
    else if (!result.ends_with(' '))
      result += ' ';
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

HostArrays oracle_results(const Graph& graph, const HostArrays& inputs,
                          std::span<const std::int64_t> symbols) {
  HostArrays results;
  for (const auto& [name, value] : interpret(graph, inputs, symbols).outputs)
    results.emplace(name, to_array(value));
  return results;
}

/// The options of all runs on the host device. Kernels are not optimised, because compiling takes
/// most of the time.
Options host_options(bool fuse) {
  return {.tune = Tune::off, .fuse = fuse, .count = true, .optimize_host = false};
}

HostArrays device_results(Device device, const Graph& graph, const HostArrays& inputs,
                          const std::vector<std::int64_t>& symbols) {
  return run_graph(graph, device, inputs, {.symbols = symbols, .options = {.tune = Tune::off}})
      .results;
}

/// Throws UserError if the results of one kernel per node have other bits.
HostArrays host_results(const Graph& graph, const HostArrays& inputs,
                        const std::vector<std::int64_t>& symbols) {
  const auto run = [&](bool fuse) {
    return run_graph(graph, host_device(), inputs,
                     {.symbols = symbols, .options = host_options(fuse)})
        .results;
  };
  HostArrays fused = run(true);
  const HostArrays unfused = run(false);
  for (const auto& [name, values] : fused)
    if (!equal_bits(values, unfused.at(name)))
      throw UserError(fmt::format("{} has other bits if nothing is fused", name));
  return fused;
}

HostArrays results_of(Runner runner, const Graph& graph, const HostArrays& inputs,
                      const std::vector<std::int64_t>& symbols) {
  switch (runner) {
    case Runner::oracle: return oracle_results(graph, inputs, symbols);
    case Runner::host_device: return host_results(graph, inputs, symbols);
    case Runner::optimized_host_device:
      return device_results(host_device(), graph, inputs, symbols);
    case Runner::default_device: return device_results(default_device(), graph, inputs, symbols);
  }
  return {};
}

/// No results if the graph has none that are exact.
HostArrays exact_results_or_none(const Graph& graph, const HostArrays& inputs) {
  try {
    return exact_results(graph, inputs);
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace

std::string text_of(const Verdict& verdict) {
  switch (verdict.status) {
    case Status::passed: return "";
    case Status::inexact: return "the expected numbers are inexact: " + verdict.reason;
    case Status::failed: return "failed: " + verdict.reason;
    case Status::unsupported: return "unsupported: " + verdict.reason;
    case Status::out_of_scope: return "out of scope: " + verdict.reason;
  }
  return "";
}

ImportedCase::ImportedCase(const OnnxCase& test) : test_(test) {
  if (!test.out_of_scope.empty()) {
    verdict_ = {Status::out_of_scope, test.out_of_scope};
    return;
  }
  try {
    data_ = read_onnx_data(test);
    import();
  } catch (const UserError& error) {
    graph_.reset();
    verdict_ = {Status::unsupported, one_line(without_path(error.what(), test))};
  } catch (const std::exception& error) {
    graph_.reset();
    verdict_ = {Status::failed, one_line(error.what())};
  }
}

/// Imports the model again with one more constant as long as the importer asks for the contents of
/// an input.
void ImportedCase::import() {
  std::ifstream stream(test_.model(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  const onnx::ModelProto model = onnx::decode_model(bytes);
  if (!model.graph) throw UserError("the model has no graph");
  input_names_ = given_inputs(*model.graph);
  const OnnxData& first = data_.front();
  if (first.inputs.size() != input_names_.size())
    throw UserError(fmt::format("the model has {} inputs; the case has {}", input_names_.size(),
                                first.inputs.size()));
  while (true) {
    try {
      onnx::ImportedModel imported =
          onnx::import_model(bytes, test_.folder, {.constants = constants_});
      for (const onnx::Weight& weight : imported.weights)
        weights_.emplace(weight.name, *weight.array);
      const auto name_in_graph = [&](std::string_view name) {
        const auto found = std::ranges::find(imported.renamed, name, &onnx::RenamedValue::in_model);
        return found == imported.renamed.end() ? std::string(name) : found->in_text;
      };
      for (const std::string& name : input_names_)
        if (constants_.contains(name))
          graph_inputs_.push_back(std::nullopt);
        else
          graph_inputs_.push_back(name_in_graph(name));
      for (const onnx::ValueInfoProto& output : model.graph->output)
        output_names_.push_back(name_in_graph(output.name));
      graph_ = std::move(imported.graph);
      break;
    } catch (const UserError& error) {
      const std::size_t before = constants_.size();
      for (std::size_t i = 0; i < input_names_.size(); ++i)
        if (std::string_view(error.what()).find(fmt::format("input '{}' (", input_names_[i])) !=
            std::string_view::npos)
          constants_.emplace(input_names_[i], first.inputs[i]);
      if (constants_.size() == before) add_sizes(error.what());
      if (constants_.size() == before) throw;
    }
  }
  symbols_ = solved_symbols(*graph_, inputs_of(first));
}

/// For values that are computed from inputs but must be known: sizes follow from numbers, and from
/// vectors of integers.
void ImportedCase::add_sizes(std::string_view message) {
  if (message.find("computed at run time") == std::string_view::npos) return;
  for (std::size_t i = 0; i < input_names_.size(); ++i) {
    const HostArray& value = data_.front().inputs[i];
    const bool is_number = value.shape().empty();
    if (is_number || (is_integer(value.dtype()) && value.shape().size() == 1))
      constants_.emplace(input_names_[i], value);
  }
}

HostArrays ImportedCase::inputs_of(const OnnxData& data) const {
  HostArrays inputs = weights_;
  for (std::size_t i = 0; i < graph_inputs_.size(); ++i)
    if (graph_inputs_[i]) inputs.insert_or_assign(*graph_inputs_[i], data.inputs[i]);
  return inputs;
}

Verdict ImportedCase::compared(const HostArrays& results, const HostArrays& inputs,
                               const OnnxData& data) const {
  Verdict verdict;
  HostArrays exact;
  for (std::size_t i = 0; i < data.outputs.size(); ++i) {
    const std::string& name = output_names_.at(i);
    const auto found = results.find(name);
    if (found == results.end()) return {Status::failed, fmt::format("there is no output {}", name)};
    const std::string text = onnx_difference(found->second, data.outputs[i]);
    if (text.empty()) continue;
    if (exact.empty()) exact = exact_results_or_none(*graph_, inputs);
    const auto truth = exact.find(name);
    const std::string inexact =
        truth == exact.end() ? ""
                             : inexact_expectation(found->second, data.outputs[i], truth->second);
    if (inexact.empty()) return {Status::failed, fmt::format("{} {}", name, text)};
    verdict = {Status::inexact, fmt::format("{} {}", name, inexact)};
  }
  return verdict;
}

template <class Compare>
Verdict ImportedCase::judge_by(Runner runner, Compare compare) const {
  if (!graph_) return verdict_;
  Verdict verdict;
  try {
    for (const OnnxData& data : data_) {
      const HostArrays inputs = inputs_of(data);
      const std::vector<std::int64_t> symbols = solved_symbols(*graph_, inputs);
      const Verdict one = compare(results_of(runner, *graph_, inputs, symbols), inputs, data);
      if (one.status == Status::failed) return one;
      if (one.status != Status::passed) verdict = one;
    }
  } catch (const std::exception& error) {
    return {Status::failed, one_line(error.what())};
  }
  return verdict;
}

Verdict ImportedCase::judge(Runner runner) const {
  return judge_by(runner, [&](const HostArrays& results, const HostArrays& inputs,
                              const OnnxData& data) { return compared(results, inputs, data); });
}

Verdict ImportedCase::judge_types() const {
  return judge_by(
      Runner::oracle,
      [&](const HostArrays& results, const HostArrays&, const OnnxData& data) -> Verdict {
        for (std::size_t i = 0; i < data.outputs.size(); ++i) {
          const std::string text =
              type_difference(results.at(output_names_.at(i)), data.outputs[i]);
          if (!text.empty()) return {Status::failed, fmt::format("{} {}", output_names_[i], text)};
        }
        return {};
      });
}

std::vector<Verdict> judge_on_host(std::span<const ImportedCase> cases) {
  std::vector<RunForm> forms;
  for (const ImportedCase& imported : cases)
    if (imported.graph())
      for (const bool fuse : {true, false})
        forms.push_back({imported.graph(), imported.symbols(), host_options(fuse)});
  compile_together(forms);
  std::vector<Verdict> verdicts;
  for (const ImportedCase& imported : cases)
    verdicts.push_back(imported.judge(Runner::host_device));
  return verdicts;
}

}  // namespace sinter::test
