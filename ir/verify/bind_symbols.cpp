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

constexpr std::int64_t kUnknown = kUnknownSize;

bool is_symbol(const ExtentTerm& term) {
  return term.atoms.size() == 1 && !term.atoms[0]->name.empty();
}

/// The symbol's id if `extent` is a symbol alone.
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

/// One axis of one input: what the graph says of it, and what it is.
struct Axis {
  const InputInfo* input;
  std::size_t number;
  Extent extent;
  std::int64_t given;
};

[[noreturn]] void refuse(const Axis& axis, std::string_view why) {
  throw UserError(fmt::format("input {}: axis {} is {} but the graph says {}{}", axis.input->name,
                              axis.number, axis.given, to_string(axis.extent), why));
}

/// Solves `extent = given` for its only unknown symbol, where it stands in one term without
/// factors.
bool solve(const Axis& axis, std::vector<std::int64_t>& symbols) {
  if (axis.extent.is_number()) return false;
  const ExtentTerm* unknown = nullptr;
  std::int64_t rest = axis.given;
  for (const ExtentTerm& term : axis.extent.expression()->terms) {
    std::int64_t value = term.coefficient;
    for (const ExtentAtom* atom : term.atoms) {
      if (atom->name.empty()) return false;
      const std::int64_t symbol = symbols[static_cast<std::size_t>(atom->id)];
      if (symbol == kUnknown && (unknown || !is_symbol(term))) return false;
      if (symbol == kUnknown)
        unknown = &term;
      else if (__builtin_mul_overflow(value, symbol, &value))
        return false;
    }
    if (&term != unknown && __builtin_sub_overflow(rest, value, &rest)) return false;
  }
  if (!unknown) return false;
  const std::int64_t factor = unknown->coefficient;
  // The one quotient of 64-bit numbers that does not fit.
  const bool overflows = factor == -1 && rest == std::numeric_limits<std::int64_t>::min();
  if (overflows || rest % factor != 0 || rest / factor < 0)
    refuse(axis, fmt::format("; no {} makes it so", unknown->atoms[0]->name));
  symbols[static_cast<std::size_t>(unknown->atoms[0]->id)] = rest / factor;
  return true;
}

const InputShape* find_shape(const InputInfo& input, std::size_t place,
                             std::span<const InputShape> inputs) {
  // Callers mostly keep to the order of declaration.
  if (place < inputs.size() && inputs[place].name == input.name) return &inputs[place];
  const auto found = std::ranges::find(inputs, input.name, &InputShape::name);
  return found == inputs.end() ? nullptr : &*found;
}

/// Throws for the shape that was given beside those that belong to the graph's inputs.
[[noreturn]] void refuse_surplus(const GraphData& graph, std::span<const InputShape> inputs) {
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

/// Every axis of every input that is given, in order.
std::vector<Axis> match_axes(const GraphData& graph, std::span<const InputShape> inputs,
                             Given which) {
  std::vector<Axis> axes;
  std::size_t matched = 0;
  for (std::size_t place = 0; place < graph.inputs.size(); ++place) {
    const InputInfo& input = graph.inputs[place];
    const InputShape* given = find_shape(input, place, inputs);
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
  if (matched != inputs.size()) refuse_surplus(graph, inputs);
  return axes;
}

/// `, which is 4096 for rows = 256`
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

/// Symbols that the graph uses must be known by now; the others become 0.
void check_known(const GraphData& graph, std::vector<std::int64_t>& symbols,
                 std::string_view remedy) {
  for (const ExtentAtom* symbol : graph.extents->symbols()) {
    std::int64_t& value = symbols[static_cast<std::size_t>(symbol->id)];
    if (value != kUnknown) continue;
    if (uses(graph, symbol->id))
      throw UserError(fmt::format("symbol {}: its size is unknown; {}", symbol->name,
                                  fmt::format(fmt::runtime(remedy), symbol->name)));
    value = 0;
  }
}

/// Gives symbols that are unknown the values that the axes tell.
void solve_all(std::span<const Axis> axes, std::vector<std::int64_t>& symbols) {
  for (const Axis& axis : axes) {
    if (axis.given < 0) refuse(axis, "; an extent is at least 0");
    if (const std::optional<std::size_t> symbol = lone_symbol(axis.extent))
      if (symbols[*symbol] == kUnknown) symbols[*symbol] = axis.given;
  }
  for (bool solved_one = std::ranges::find(symbols, kUnknown) != symbols.end(); solved_one;) {
    solved_one = false;
    for (const Axis& axis : axes) solved_one |= solve(axis, symbols);
  }
}

/// Throws for the first axis that is not what the graph says. Axes of unknown symbols are let pass.
void check_axes(std::span<const Axis> axes, std::span<const ExtentAtom* const> names,
                std::span<const std::int64_t> symbols) {
  for (const Axis& axis : axes) {
    const bool is_known = std::ranges::none_of(names, [&](const ExtentAtom* symbol) {
      return symbols[static_cast<std::size_t>(symbol->id)] == kUnknown &&
             mentions(axis.extent, symbol->id);
    });
    if (is_known && evaluate(axis.extent, symbols) != axis.given)
      refuse(axis, with_values(axis.extent, names, symbols));
  }
}

}  // namespace

std::vector<std::int64_t> bind_symbols(const GraphData& graph, std::span<const InputShape> inputs) {
  const std::vector<Axis> axes = match_axes(graph, inputs, Given::all);
  const std::span<const ExtentAtom* const> names = graph.extents->symbols();
  std::vector<std::int64_t> symbols(names.size(), kUnknown);
  solve_all(axes, symbols);
  check_known(graph, symbols,
              "give some input an axis of extent {} alone, from which it can be read");
  for (const Axis& axis : axes)
    if (evaluate(axis.extent, symbols) != axis.given)
      refuse(axis, with_values(axis.extent, names, symbols));
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
  std::vector<std::int64_t> symbols(names.size(), kUnknown);
  for (const NamedSize& size : sizes) {
    const auto found = std::ranges::find(names, size.name, &ExtentAtom::name);
    if (found == names.end()) {
      std::vector<std::string_view> known;
      for (const ExtentAtom* symbol : names) known.push_back(symbol->name);
      throw UserError(fmt::format("size {}: graph {} has no symbol of this name; it has [{}]",
                                  size.name, graph.name, fmt::join(known, ", ")));
    }
    std::int64_t& value = symbols[static_cast<std::size_t>((*found)->id)];
    if (value != kUnknown)
      throw UserError(
          fmt::format("size {}: it is given twice, as {} and {}", size.name, value, size.value));
    if (size.value < 0)
      throw UserError(
          fmt::format("size {}: {} is negative; an extent is at least 0", size.name, size.value));
    value = size.value;
  }
  check_known(graph, symbols, "give it one, such as {} = 64");
  return symbols;
}

namespace {

/// Throws `slice at model.cpp:42: …`.
[[noreturn]] void refuse_node(const GraphData& graph, const Node& node, const std::string& why) {
  throw UserError(
      fmt::format("{}: {} (recorded at {})", info(node.op).name, why, graph.place(&node)));
}

void check_slice(const GraphData& graph, const Node& node, std::span<const std::int64_t> symbols) {
  const auto axis = static_cast<std::size_t>(attribute(node, "axis").integer);
  const std::int64_t begin = evaluate(attribute(node, "begin").extent, symbols);
  const std::int64_t step = attribute(node, "step").integer;
  const std::int64_t extent = evaluate(node.operand(0)->shape[axis], symbols);
  const std::int64_t count = evaluate(node.shape[axis], symbols);
  const std::int64_t last = begin + (count - 1) * step;
  if (count > 0 && (begin < 0 || last >= extent))
    refuse_node(graph, node,
                fmt::format("elements {} to {} are outside axis {} of extent {}, which is {}",
                            begin, last, axis, to_string(node.operand(0)->shape[axis]), extent));
}

/// Ops that look for an element along `axis` need one there.
void check_not_empty(const GraphData& graph, const Node& node, std::size_t axis,
                     std::span<const std::int64_t> symbols) {
  if (evaluate(node.operand(0)->shape[axis], symbols) != 0) return;
  for (const Extent extent : node.shape)
    if (evaluate(extent, symbols) == 0) return;
  refuse_node(graph, node,
              fmt::format("axis {} of {} is empty, so there is no element to take", axis,
                          type_text(*node.operand(0))));
}

/// A call gives all of its results, also those that nobody needs.
void check_results(const GraphData& graph, const Node& node,
                   std::span<const std::int64_t> symbols) {
  const std::vector<ResultType> types = result_types(node);
  for (std::size_t i = 0; i < types.size(); ++i)
    for (const Extent extent : types[i].shape)
      if (const std::int64_t size = evaluate(extent, symbols); size < 0)
        refuse_node(graph, node,
                    fmt::format("extent {} of result {} would be {}; give larger sizes",
                                to_string(extent), i, size));
}

}  // namespace

void check_sizes(const GraphData& graph, std::span<const std::int64_t> symbols) {
  for (const Node* node : graph.nodes) {
    for (std::size_t axis = 0; axis < node->shape.size(); ++axis)
      if (const std::int64_t extent = evaluate(node->shape[axis], symbols); extent < 0)
        refuse_node(graph, *node,
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
