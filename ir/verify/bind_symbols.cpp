// Solves symbols from input shapes or from a list of sizes, and checks a graph at given sizes.
#include "ir/verify/bind_symbols.h"

#include "ir/record/opaque.h"
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

bool mentions(Extent extent, int symbol) {
  if (extent.is_number()) return false;
  for (const ExtentTerm& term : extent.expression()->terms)
    for (const ExtentAtom* atom : term.atoms)
      if (atom->name.empty() ? mentions(atom->numerator, symbol) || mentions(atom->divisor, symbol)
                             : atom->id == symbol)
        return true;
  return false;
}

bool mentions(std::span<const Extent> extents, int symbol) {
  return std::ranges::any_of(extents, [&](Extent extent) { return mentions(extent, symbol); });
}

bool uses(const GraphData& graph, int symbol) {
  return std::ranges::any_of(graph.nodes, [&](const Node* node) {
    return mentions(node->shape, symbol) ||
           std::ranges::any_of(node->attributes, [&](const Attribute& attribute) {
             return mentions(attribute.extent, symbol) || mentions(attribute.extents, symbol);
           });
  });
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

const InputShape* find_shape(const InputInfo& input, std::size_t position,
                             std::span<const InputShape> inputs) {
  // Callers usually pass shapes in the order of declaration.
  if (position < inputs.size() && inputs[position].name == input.name) return &inputs[position];
  const auto found = std::ranges::find(inputs, input.name, &InputShape::name);
  return found == inputs.end() ? nullptr : &*found;
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

enum class Given : std::uint8_t { all, some };

/// The axes of all given inputs, in order of declaration. Throws UserError on a missing input (if
/// `which` is all and it is no scalar), a wrong rank, or a surplus shape.
std::vector<Axis> match_axes(const GraphData& graph, std::span<const InputShape> inputs,
                             Given which) {
  std::vector<Axis> axes;
  std::size_t matched = 0;
  for (std::size_t position = 0; position < graph.inputs.size(); ++position) {
    const InputInfo& input = graph.inputs[position];
    const InputShape* given = find_shape(input, position, inputs);
    if (!given && (which == Given::some || input.node->op == Op::scalar)) continue;
    if (!given)
      throw UserError(fmt::format("input {}: it is not given; the graph says {}", input.name,
                                  type_text(*input.node)));
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
  std::string text;
  for (const ExtentAtom* symbol : names)
    if (mentions(extent, symbol->id))
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", symbol->name,
                          symbols[static_cast<std::size_t>(symbol->id)]);
  return fmt::format(", which is {} for {}", evaluate(extent, symbols), text);
}

/// Throws UserError if a symbol that the graph uses is unknown. Other unknown symbols become 0.
void check_known(const GraphData& graph, std::vector<std::int64_t>& symbols,
                 std::string_view remedy) {
  for (const ExtentAtom* symbol : graph.extents->symbols()) {
    std::int64_t& value = symbols[static_cast<std::size_t>(symbol->id)];
    if (value != kUnknownSize) continue;
    if (uses(graph, symbol->id))
      throw UserError(fmt::format("symbol {}: its size is unknown; {}", symbol->name,
                                  fmt::format(fmt::runtime(remedy), symbol->name)));
    value = 0;
  }
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
  for (const Axis& axis : axes) {
    const bool is_known = std::ranges::none_of(names, [&](const ExtentAtom* symbol) {
      return symbols[static_cast<std::size_t>(symbol->id)] == kUnknownSize &&
             mentions(axis.extent, symbol->id);
    });
    if (is_known && evaluate(axis.extent, symbols) != axis.given)
      throw_mismatch(axis, with_values(axis.extent, names, symbols));
  }
}

}  // namespace

std::vector<std::int64_t> bind_symbols(const GraphData& graph, std::span<const InputShape> inputs) {
  const std::vector<Axis> axes = match_axes(graph, inputs, Given::all);
  const std::span<const ExtentAtom* const> names = graph.extents->symbols();
  std::vector<std::int64_t> symbols(names.size(), kUnknownSize);
  solve_all(axes, symbols);
  check_known(graph, symbols, "give some input an axis of extent {}, so that it can be inferred");
  check_axes(axes, names, symbols);
  return symbols;
}

std::vector<std::int64_t> solve_symbols(const GraphData& graph, std::span<const InputShape> inputs,
                                        std::vector<std::int64_t> symbols) {
  const std::vector<Axis> axes = match_axes(graph, inputs, Given::some);
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
  check_known(graph, symbols, "give its size, such as {} = 64");
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
