#include "tools/sinter/arguments/arguments.h"

#include "ir/graph/node.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/saved/saved_file.h"
#include "sinter/error.h"
#include "sinter/options.h"
#include "sinter/text.h"
#include "tools/sinter/files/text_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

struct Assignment {
  std::string_view name;
  std::int64_t value = 0;
};

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

Assignment parse_assignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos)
    throw UsageError(fmt::format("--size {}: expected NAME=NUMBER, such as rows=4096", text));
  const std::string_view name = text.substr(0, equals);
  const std::string_view digits = text.substr(equals + 1);
  Assignment result{.name = name};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), result.value);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
  if (!is_name(name) || !is_number || result.value < 0)
    throw UsageError(fmt::format(
        "--size {}: expected NAME=NUMBER with a whole number from 0 up, such as rows=4096", text));
  return result;
}

/// True if the graph is valid at these sizes and no value has more than `most` elements.
bool is_within(const GraphData& graph, std::span<const std::int64_t> values, std::int64_t most) {
  try {
    check_sizes(graph, values);
    return std::ranges::all_of(graph.nodes, [&](const Node* node) {
      return evaluate(product(node->shape), values) <= most;
    });
  } catch (const UserError&) {
    return false;
  }
}

void set_defaults(const GraphData& graph, SymbolSizes& sizes) {
  const auto set_all = [&](std::int64_t value) {
    for (std::size_t i = 0; i < sizes.values.size(); ++i)
      if (sizes.is_default[i]) sizes.values[i] = value;
  };
  for (std::int64_t size = kDefaultSize; size >= 1; size /= 2) {
    set_all(size);
    if (is_within(graph, sizes.values, kMaxDefaultElements)) return;
  }
  set_all(kDefaultSize);  // the caller's check_sizes reports the problem
}

std::vector<InputShape> shapes_of(const HostArrays& inputs) {
  std::vector<InputShape> shapes;
  for (const auto& [name, array] : inputs) shapes.push_back({.name = name, .shape = array.shape()});
  return shapes;
}

/// Sets the default sizes that follow from the shapes of `inputs`.
void set_from(const GraphData& graph, const HostArrays& inputs, SymbolSizes& sizes) {
  std::vector<std::int64_t> known = sizes.values;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (sizes.is_default[i]) known[i] = kUnknownSize;
  known = solve_symbols(graph, shapes_of(inputs), std::move(known));
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] == kUnknownSize) continue;
    sizes.values[i] = known[i];
    sizes.is_default[i] = false;
  }
}

}  // namespace

Numerics numerics_of(const NumericsArguments& arguments) {
  return {.rounding = arguments.rounding == "wide" ? Rounding::wide : Rounding::as_recorded,
          .math = arguments.math == "fast" ? Math::fast : Math::accurate};
}

PlanOptions plan_options(Numerics numerics) {
  return {.numerics = numerics, .skip = options_from_environment().skip};
}

void take_file(std::string& file, std::vector<std::string>& words) {
  if (!file.empty() || words.empty() || words.back().find('=') != std::string::npos) return;
  file = words.back();
  words.pop_back();
}

void finish_graph_arguments(GraphArguments& arguments) {
  take_file(arguments.file, arguments.sizes);
  for (const std::string& size : arguments.sizes) parse_assignment(size);
  if (arguments.file.empty())
    throw UsageError("FILE is missing: give a .sinter file, or - for standard input");
}

bool is_saved_executable(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;  // a pipe can be read only once
  std::ifstream stream(file, std::ios::binary);
  char start[8] = {};
  stream.read(start, sizeof start);
  return has_saved_magic({start, static_cast<std::size_t>(stream.gcount())});
}

Graph read_graph(const std::string& file) {
  const std::string text = read_text_file(file, file == "-" ? "standard input" : file);
  if (has_saved_magic(text))
    throw UsageError(
        file == "-" ? "standard input is a saved executable, which only `sinter run FILE` accepts"
                    : fmt::format("{} is a saved executable, which only `sinter run` accepts; give "
                                  "the graph's text",
                                  file));
  try {
    return parse(text, file == "-" ? "stdin" : file);
  } catch (const UserError& error) {
    throw TextFailure(error.what());
  }
}

std::string SymbolSizes::text(const Graph& graph) const {
  std::string result;
  const auto symbols = graph.data().extents->symbols();
  for (std::size_t i = 0; i < values.size(); ++i)
    result += fmt::format("{}{} = {}{}", i == 0 ? "" : ", ", symbols[i]->name, values[i],
                          is_default[i] ? " (default)" : "");
  return result;
}

SymbolSizes choose_sizes(const Graph& graph, std::span<const std::string> given,
                         const HostArrays& inputs, std::span<const std::int64_t> prepared) {
  const auto symbols = graph.data().extents->symbols();
  SymbolSizes sizes{.values = std::vector<std::int64_t>(symbols.size(), 0),
                    .is_default = std::vector<bool>(symbols.size(), true)};
  for (const std::string& text : given) {
    const Assignment size = parse_assignment(text);
    const auto symbol = std::ranges::find(symbols, size.name, &ExtentAtom::name);
    if (symbol == symbols.end()) {
      std::vector<std::string_view> names;
      for (const ExtentAtom* known : symbols) names.push_back(known->name);
      throw UsageError(fmt::format(
          "--size {}: graph {} has {}", text, graph.name(),
          names.empty() ? "no symbols" : fmt::format("the symbols {}", fmt::join(names, ", "))));
    }
    const auto id = static_cast<std::size_t>(symbol - symbols.begin());
    if (!sizes.is_default[id])
      throw UsageError(fmt::format("--size {}: the size of {} is given twice", text, size.name));
    sizes.values[id] = size.value;
    sizes.is_default[id] = false;
  }
  set_from(graph.data(), inputs, sizes);
  if (prepared.empty()) set_defaults(graph.data(), sizes);
  for (std::size_t i = 0; i < prepared.size(); ++i)
    if (sizes.is_default[i]) sizes.values[i] = prepared[i];
  check_sizes(graph, sizes.values);
  solve_symbols(graph.data(), shapes_of(inputs), sizes.values);  // checks the defaults, too
  return sizes;
}

const Target& target_of(std::string_view arch) {
  if (const Target* target = find_target(arch)) return *target;
  throw UsageError(fmt::format("--arch {}: there is no such target; known are {}", arch,
                               fmt::join(known_archs_and_names(), ", ")));
}

}  // namespace sinter::command
