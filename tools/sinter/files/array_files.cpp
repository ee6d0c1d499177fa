#include "tools/sinter/files/array_files.h"

#include "ir/graph/node.h"
#include "ir/oracle/random_inputs.h"
#include "sinter/error.h"
#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/files/npy.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

/// Splits `a=a.npy,b=b.npy`. A comma without a following `NAME=` is part of a file name.
std::vector<std::string> split_inputs(std::span<const std::string> words) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    result.emplace_back();
    for (std::size_t i = 0; i < word.size(); ++i) {
      const std::size_t end = word.find_first_of(",=/", i + 1);
      if (word[i] == ',' && end != word.npos && word[end] == '=')
        result.emplace_back();
      else
        result.back() += word[i];
    }
  }
  return result;
}

}  // namespace

HostArrays read_inputs(const Graph& graph, std::span<const std::string> given) {
  HostArrays arrays;
  const std::vector<InputInfo>& inputs = graph.data().inputs;
  for (const std::string& text : split_inputs(given)) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size())
      throw UsageError(fmt::format("--inputs {}: expected NAME=FILE, such as x=x.npy", text));
    const std::string name = text.substr(0, equals);
    const auto input = std::ranges::find(inputs, name, &InputInfo::name);
    if (input == inputs.end()) {
      std::vector<std::string_view> names;
      for (const InputInfo& known : inputs) names.push_back(known.name);
      throw UsageError(fmt::format("--inputs {}: graph {} has the inputs {}", text, graph.name(),
                                   fmt::join(names, ", ")));
    }
    if (arrays.contains(name))
      throw UsageError(fmt::format("--inputs {}: {} is given twice", text, name));
    arrays.emplace(name, read_npy(text.substr(equals + 1), input->node->dtype));
  }
  return arrays;
}

HostArrays complete_inputs(const Graph& graph, std::span<const std::int64_t> symbols,
                           std::uint64_t seed, const HostArrays& given,
                           std::span<const std::string> without) {
  HostArrays arrays = random_inputs(graph, symbols, seed, without);
  for (const auto& [name, array] : given) copy_elements(array, arrays.at(name));
  return arrays;
}

std::vector<std::string> write_results(const std::string& directory,
                                       std::span<const Result> results) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    throw UserError(
        fmt::format("{} cannot be created as a folder: {}", directory, error.message()));
  std::vector<std::string> paths;
  for (const Result& result : results) {
    const bool is_output_too =
        result.is_update && std::ranges::any_of(results, [&](const Result& other) {
          return !other.is_update && other.name == result.name;
        });
    paths.push_back(std::filesystem::path(directory) /
                    (result.name + (is_output_too ? ".updated.npy" : ".npy")));
    write_npy(paths.back(), result.array);
  }
  return paths;
}

}  // namespace sinter::command
