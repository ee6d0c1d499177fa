// Solves symbols from input shapes or from a list of sizes, and checks a graph at given sizes.
#include "ir/verify/symbol_sizes.h"

#include "ir/record/opaque.h"
#include "ir/support/sort_unique.h"
#include "sinter/error.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace sinter {

namespace {

bool is_symbol(const ExtentTerm& term) {
  return term.atoms.size() == 1 && !term.atoms[0]->name.empty();
}

/// The id of the symbol if `extent` is a single symbol.
std::optional<std::size_t> lone_symbol(Extent extent) {
  if (extent.is_number()) return std::nullopt;
  const std::vector<ExtentTerm>& terms = extent.expression()->terms;
  if (terms.size() != 1 || terms[0].coefficient != 1 || !is_symbol(terms[0])) return std::nullopt;
  return static_cast<std::size_t>(terms[0].atoms[0]->id);
}

void collect_symbols(Extent extent, std::vector<int>& symbols) {
  for (const ExtentTerm& term : terms_of(extent))
    for (const ExtentAtom* atom : term.atoms) {
      if (!atom->name.empty()) {
        symbols.push_back(atom->id);
        continue;
      }
      collect_symbols(atom->numerator, symbols);
      collect_symbols(atom->divisor, symbols);
    }
}

/// One axis of one input.
struct Axis {
  const InputInfo* input;
  std::size_t number;
  Extent extent;       ///< as declared by the graph
  std::int64_t given;  ///< in the caller's shape
};

[[noreturn]] void throw_mismatch(const Axis& axis, std::string_view why) {
  throw UserError(fmt::format("input {}: axis {} is {} but the graph says {}{}", axis.input->name,
                              axis.number, axis.given, to_string(axis.extent), why));
}

/// Solves `extent = given` if the extent has one unknown symbol, in one term without other symbols.
/// Returns true if it found a value. Throws UserError if no value >= 0 satisfies the equation.
bool solve(const Axis& axis, std::vector<std::int64_t>& symbols) {
  if (axis.extent.is_number()) return false;
  const ExtentTerm* unknown = nullptr;
  std::int64_t rest = axis.given;
  for (const ExtentTerm& term : axis.extent.expression()->terms) {
    std::int64_t value = term.coefficient;
    for (const ExtentAtom* atom : term.atoms) {
      if (atom->name.empty()) return false;
      const std::int64_t symbol = symbols[static_cast<std::size_t>(atom->id)];
      if (symbol == kUnknownSize && (unknown || !is_symbol(term))) return false;
      if (symbol == kUnknownSize)
        unknown = &term;
      else if (__builtin_mul_overflow(value, symbol, &value))
        return false;
    }
    if (&term != unknown && __builtin_sub_overflow(rest, value, &rest)) return false;
  }
  if (!unknown) return false;
  const std::int64_t factor = unknown->coefficient;
  // -2^63 / -1 is the only 64-bit quotient that overflows.
  const bool overflows = factor == -1 && rest == std::numeric_limits<std::int64_t>::min();
  if (overflows || rest % factor != 0 || rest / factor < 0)
    throw_mismatch(axis, fmt::format("; no value of {} fits", unknown->atoms[0]->name));
  symbols[static_cast<std::size_t>(unknown->atoms[0]->id)] = rest / factor;
  return true;
}

/// Throws UserError for a shape that is given twice or belongs to no input of the graph.
[[noreturn]] void throw_surplus_input(const GraphData& graph, std::span<const InputShape> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string_view name = inputs[i].name;
    if (std::ranges::find(inputs.subspan(i + 1), name, &InputShape::name) != inputs.end())
      throw UserError(fmt::format("input {}: it is given twice; give it once", name));
    if (std::ranges::find(graph.inputs, name, &InputInfo::name) != graph.inputs.end()) continue;
    std::vector<std::string_view> names;
    for (const InputInfo& input : graph.inputs) names.push_back(input.name);
    throw UserError(fmt::format("input {}: graph {} has no input of this name; it has [{}]", name,
                                graph.name, fmt::join(names, ", ")));
  }
  throw InternalError("bind: every shape belongs to an input");
}

/// The axes of all given inputs, in order of declaration. Throws UserError on a wrong rank or a
/// surplus shape.
std::vector<Axis> match_axes(const GraphData& graph, std::span<const InputShape> inputs) {
  std::vector<Axis> axes;
  std::size_t matched = 0;
  for (const InputInfo& input : graph.inputs) {
    const auto given = std::ranges::find(inputs, input.name, &InputShape::name);
    if (given == inputs.end()) continue;
    ++matched;
    const std::span<const Extent> shape = input.node->shape;
    if (given->shape.size() != shape.size())
      throw UserError(fmt::format("input {}: shape [{}] has rank {} but the graph says {}, rank {}",
                                  input.name, fmt::join(given->shape, ", "), given->shape.size(),
                                  to_string(shape), shape.size()));
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      axes.push_back(
          {.input = &input, .number = axis, .extent = shape[axis], .given = given->shape[axis]});
  }
  if (matched != inputs.size()) throw_surplus_input(graph, inputs);
  return axes;
}

/// The value of `extent` for messages, such as `, which is 4096 for rows = 256`.
std::string with_values(Extent extent, std::span<const ExtentAtom* const> names,
                        std::span<const std::int64_t> symbols) {
  if (extent.is_number()) return {};
  std::vector<int> used;
  collect_symbols(extent, used);
  sort_unique(used);
  std::string text;
  for (const int symbol : used)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ",
                        names[static_cast<std::size_t>(symbol)]->name,
                        symbols[static_cast<std::size_t>(symbol)]);
  return fmt::format(", which is {} for {}", evaluate(extent, symbols), text);
}

/// Solves unknown symbols from the axes, until no further symbol can be solved.
void solve_all(std::span<const Axis> axes, std::vector<std::int64_t>& symbols) {
  for (const Axis& axis : axes) {
    if (axis.given < 0) throw_mismatch(axis, "; an extent is at least 0");
    if (const std::optional<std::size_t> symbol = lone_symbol(axis.extent))
      if (symbols[*symbol] == kUnknownSize) symbols[*symbol] = axis.given;
  }
  for (bool solved_one = std::ranges::find(symbols, kUnknownSize) != symbols.end(); solved_one;) {
    solved_one = false;
    for (const Axis& axis : axes) solved_one |= solve(axis, symbols);
  }
}

/// Throws UserError for the first axis that differs from the graph. Axes with unknown symbols pass.
void check_axes(std::span<const Axis> axes, std::span<const ExtentAtom* const> names,
                std::span<const std::int64_t> symbols) {
  for (const Axis& axis : axes)
    if (unknown_symbols(axis.extent, symbols).empty() &&
        evaluate(axis.extent, symbols) != axis.given)
      throw_mismatch(axis, with_values(axis.extent, names, symbols));
}

}  // namespace

std::vector<int> used_symbols(const GraphData& graph) {
  std::vector<int> used;
  for (const Node* node : graph.nodes) {
    for (const Extent extent : node->shape) collect_symbols(extent, used);
    for (const Attribute& attribute : node->attributes) {
      collect_symbols(attribute.extent, used);
      for (const Extent extent : attribute.extents) collect_symbols(extent, used);
    }
  }
  for (const OutputInfo& output : graph.outputs)
    for (const Extent extent : output.strides) collect_symbols(extent, used);
  sort_unique(used);
  return used;
}

std::vector<int> unknown_symbols(Extent extent, std::span<const std::int64_t> symbols) {
  std::vector<int> all;
  collect_symbols(extent, all);
  std::erase_if(all, [&](int symbol) { return symbols[static_cast<std::size_t>(symbol)] >= 0; });
  sort_unique(all);
  return all;
}

std::vector<std::int64_t> solve_symbols(const GraphData& graph, std::span<const InputShape> inputs,
                                        std::vector<std::int64_t> symbols) {
  const std::vector<Axis> axes = match_axes(graph, inputs);
  solve_all(axes, symbols);
  check_axes(axes, graph.extents->symbols(), symbols);
  return symbols;
}

std::vector<std::int64_t> symbols_from_sizes(const GraphData& graph,
                                             std::span<const NamedSize> sizes) {
  const std::span<const ExtentAtom* const> names = graph.extents->symbols();
  std::vector<std::int64_t> symbols(names.size(), kUnknownSize);
  for (const NamedSize& size : sizes) {
    const auto found = std::ranges::find(names, size.name, &ExtentAtom::name);
    if (found == names.end()) {
      std::vector<std::string_view> known;
      for (const ExtentAtom* symbol : names) known.push_back(symbol->name);
      throw UserError(fmt::format("size {}: graph {} has no symbol of this name; it has [{}]",
                                  size.name, graph.name, fmt::join(known, ", ")));
    }
    std::int64_t& value = symbols[static_cast<std::size_t>((*found)->id)];
    if (value != kUnknownSize)
      throw UserError(
          fmt::format("size {}: it is given twice, as {} and {}", size.name, value, size.value));
    if (size.value < 0)
      throw UserError(
          fmt::format("size {}: {} is negative; an extent is at least 0", size.name, size.value));
    value = size.value;
  }
  for (const int symbol : used_symbols(graph))
    if (symbols[static_cast<std::size_t>(symbol)] == kUnknownSize)
      throw UserError(
          fmt::format("symbol {0}: its size is unknown; give its size, such as {0} = 64",
                      names[static_cast<std::size_t>(symbol)]->name));
  std::ranges::replace(symbols, kUnknownSize, 0);
  return symbols;
}

namespace {

/// Throws `slice: … (recorded at model.cpp:42)`.
[[noreturn]] void throw_invalid_node(const GraphData& graph, const Node& node,
                                     const std::string& why) {
  throw UserError(
      fmt::format("{}: {} (recorded at {})", info(node.op).name, why, graph.location_text(&node)));
}

void check_slice(const GraphData& graph, const Node& node, std::span<const std::int64_t> symbols) {
  const auto axis = static_cast<std::size_t>(attribute(node, "axis").integer);
  const std::int64_t begin = evaluate(attribute(node, "begin").extent, symbols);
  const std::int64_t step = attribute(node, "step").integer;
  const std::int64_t extent = evaluate(node.operand(0)->shape[axis], symbols);
  const std::int64_t count = evaluate(node.shape[axis], symbols);
  const std::int64_t last = begin + (count - 1) * step;
  if (count > 0 && (begin < 0 || last >= extent))
    throw_invalid_node(
        graph, node,
        fmt::format("elements {} to {} are outside axis {} of extent {}, which is {}", begin, last,
                    axis, to_string(node.operand(0)->shape[axis]), extent));
}

/// Throws UserError if `axis` is empty but the result has elements, which would need one.
void check_not_empty(const GraphData& graph, const Node& node, std::size_t axis,
                     std::span<const std::int64_t> symbols) {
  if (evaluate(node.operand(0)->shape[axis], symbols) != 0) return;
  for (const Extent extent : node.shape)
    if (evaluate(extent, symbols) == 0) return;
  throw_invalid_node(graph, node,
                     fmt::format("axis {} of {} is empty, so there is no element to take", axis,
                                 type_text(*node.operand(0))));
}

/// Checks all results of an opaque call, because the call writes unused results too.
void check_results(const GraphData& graph, const Node& node,
                   std::span<const std::int64_t> symbols) {
  const std::vector<ResultType> types = result_types(node);
  for (std::size_t i = 0; i < types.size(); ++i)
    for (const Extent extent : types[i].shape)
      if (const std::int64_t size = evaluate(extent, symbols); size < 0)
        throw_invalid_node(graph, node,
                           fmt::format("extent {} of result {} would be {}; give larger sizes",
                                       to_string(extent), i, size));
}

}  // namespace

void check_sizes(const GraphData& graph, std::span<const std::int64_t> symbols) {
  for (const Node* node : graph.nodes) {
    for (std::size_t axis = 0; axis < node->shape.size(); ++axis)
      if (const std::int64_t extent = evaluate(node->shape[axis], symbols); extent < 0)
        throw_invalid_node(graph, *node,
                           fmt::format("axis {} of extent {} would be {}; give larger sizes", axis,
                                       to_string(node->shape[axis]), extent));
    if (is_opaque(*node)) check_results(graph, *node, symbols);
    if (node->op == Op::slice) check_slice(graph, *node, symbols);
    if (gives_index(node->op) || node->op == Op::take || node->op == Op::take_along_axis)
      check_not_empty(graph, *node, static_cast<std::size_t>(attribute(*node, "axis").integer),
                      symbols);
  }
}

}  // namespace sinter
