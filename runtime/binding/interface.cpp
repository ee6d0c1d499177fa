#include "runtime/binding/interface.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "ir/collectives/collective_node.h"
#include "ir/graph/node.h"
#include "ir/graph/output_view.h"
#include "ir/verify/symbol_sizes.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// The product of the coefficient of `term` and its atoms, except the one at `skipped`.
Extent without(const ExtentTerm& term, ExtentTable& table, std::size_t skipped) {
  Extent result = term.coefficient;
  for (std::size_t i = 0; i < term.atoms.size(); ++i)
    if (i != skipped)
      result = result * table.intern({{.atoms = {term.atoms[i]}, .coefficient = 1}});
  return result;
}

/// Solves `equation` for its only unknown symbol. Nothing if it has several or is not linear in it.
std::optional<SolveStep> solve(const SizeEquation& equation,
                               std::span<const std::int64_t> symbols) {
  const std::vector<int> unknown = unknown_symbols(equation.extent, symbols);
  if (unknown.size() != 1) return std::nullopt;
  ExtentTable& table = *equation.extent.expression()->table;
  SolveStep step{.equation = equation, .symbol = unknown[0], .factor = 0, .rest = 0};
  const auto is_unknown = [&](const ExtentAtom* atom) {
    return !atom->name.empty() && atom->id == unknown[0];
  };
  for (const ExtentTerm& term : terms_of(equation.extent)) {
    const auto found = std::ranges::find_if(term.atoms, is_unknown);
    Extent& sum = found == term.atoms.end() ? step.rest : step.factor;
    sum = sum + without(term, table, static_cast<std::size_t>(found - term.atoms.begin()));
  }
  // The symbol also appears in a power or a quotient if it is left in `factor` or `rest`.
  const bool is_linear = !step.factor.is(0) && unknown_symbols(step.factor, symbols).empty() &&
                         unknown_symbols(step.rest, symbols).empty();
  return is_linear ? std::optional(step) : std::nullopt;
}

Slot output_slot(const OutputInfo& output) {
  return {.kind = Slot::Kind::output,
          .name = output.name,
          .dtype = output.node->dtype,
          .shape = {output.node->shape.begin(), output.node->shape.end()},
          .strides = output.strides,
          .is_written = true};
}

void add_views(Interface& interface, std::span<const std::optional<OutputView>> views) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!views[i]) continue;
    const int base =
        views[i]->is_of_input ? views[i]->base : interface.input_count + views[i]->base;
    interface.slots[static_cast<std::size_t>(interface.input_count) + i].view =
        SlotView{.base = base, .offset = views[i]->offset, .strides = views[i]->strides};
  }
}

Slot input_slot(const InputInfo& input, const std::set<const Node*>& updated) {
  Slot slot{.kind = input.node->op == Op::scalar ? Slot::Kind::scalar : Slot::Kind::input,
            .name = input.name,
            .dtype = input.node->dtype};
  slot.shape.assign(input.node->shape.begin(), input.node->shape.end());
  if (slot.kind == Slot::Kind::scalar) return slot;
  const std::span<const Extent> strides = attribute(*input.node, "strides").extents;
  slot.strides.assign(strides.begin(), strides.end());
  slot.is_written = updated.contains(input.node);
  return slot;
}

std::vector<SizeEquation> equations_of(std::span<const Slot> slots) {
  std::vector<SizeEquation> equations;
  const auto add = [&](int slot, bool is_stride, std::span<const Extent> extents) {
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      equations.push_back({.slot = slot,
                           .axis = static_cast<int>(axis),
                           .is_stride = is_stride,
                           .extent = extents[axis]});
  };
  // Shapes first: a stride along an axis of extent 1 says nothing.
  for (std::size_t i = 0; i < slots.size(); ++i) add(static_cast<int>(i), false, slots[i].shape);
  for (std::size_t i = 0; i < slots.size(); ++i) add(static_cast<int>(i), true, slots[i].strides);
  return equations;
}

/// Solves equations of the selected slots for as many symbols as possible. The first pass tries all
/// equations in order. Later passes try only equations with a symbol that was solved since.
void add_steps(Interface& interface, bool of_outputs, std::vector<std::int64_t>& symbols) {
  std::vector<std::vector<std::size_t>> equations_with(symbols.size());
  std::set<std::size_t> now;
  for (std::size_t i = 0; i < interface.equations.size(); ++i) {
    const SizeEquation& equation = interface.equations[i];
    if ((equation.slot >= interface.input_count) != of_outputs) continue;
    for (const int symbol : unknown_symbols(equation.extent, symbols))
      equations_with[static_cast<std::size_t>(symbol)].push_back(i);
    now.insert(i);
  }
  for (std::set<std::size_t> next; !now.empty(); now = std::exchange(next, {}))
    while (!now.empty()) {
      const std::size_t i = now.extract(now.begin()).value();
      const std::optional<SolveStep> step = solve(interface.equations[i], symbols);
      if (!step) continue;
      const auto symbol = static_cast<std::size_t>(step->symbol);
      symbols[symbol] = 0;  // any value that is not negative means known
      interface.steps.push_back(*step);
      for (const std::size_t other : equations_with[symbol]) (other > i ? now : next).insert(other);
    }
}

}  // namespace

std::string to_string(const Slot& slot) {
  constexpr std::string_view kKinds[] = {"input", "scalar", "output"};
  return fmt::format("{} {}", kKinds[static_cast<std::size_t>(slot.kind)], slot.name);
}

std::string type_text(const Slot& slot) {
  return fmt::format("{}{}", name(slot.dtype), to_string(std::span<const Extent>(slot.shape)));
}

namespace {

void add_groups(Interface& interface, const GraphData& graph) {
  for (const Node* node : graph.nodes)
    if (is_collective(node->op) &&
        std::ranges::find(interface.groups, group_of(*node), &RankGroup::name) ==
            interface.groups.end())
      interface.groups.push_back(
          {.name = std::string(group_of(*node)), .size = static_cast<int>(ranks_of(*node))});
}

}  // namespace

Interface interface_of(const Graph& graph, Location compiled_at) {
  const GraphData& data = graph.data();
  Interface interface { .name = data.name, .compiled_at = to_string(compiled_at) };
  if (data.outputs.empty() && data.updates.empty())
    throw UserError(
        fmt::format("compile {}: the graph has no output and no update, so there is "
                    "nothing to compute; record one with graph.output (compiled at {})",
                    interface.name, interface.compiled_at));
  std::set<const Node*> updated;
  for (const UpdateInfo& update : data.updates) updated.insert(update.parameter);
  for (const InputInfo& input : data.inputs) interface.slots.push_back(input_slot(input, updated));
  interface.input_count = static_cast<int>(interface.slots.size());
  for (const OutputInfo& output : data.outputs) interface.slots.push_back(output_slot(output));
  add_views(interface, output_views(data));
  for (const ExtentAtom* symbol : data.extents->symbols())
    interface.symbols.push_back(symbol->name);
  interface.equations = equations_of(interface.slots);
  add_groups(interface, data);

  std::vector<std::int64_t> symbols(interface.symbols.size(), -1);
  add_steps(interface, /*of_outputs=*/false, symbols);
  add_steps(interface, /*of_outputs=*/true, symbols);
  for (const int symbol : used_symbols(data))
    if (symbols[static_cast<std::size_t>(symbol)] < 0)
      throw UserError(fmt::format(
          "compile {}: the size {} does not follow from the shape of any input or output; give an "
          "input an axis of that extent (compiled at {})",
          interface.name, interface.symbols[static_cast<std::size_t>(symbol)],
          interface.compiled_at));
  return interface;
}

Interface restricted_to(const Interface& whole, const std::vector<bool>& slots) {
  Interface part = whole;
  part.steps.clear();
  std::erase_if(part.equations, [&](const SizeEquation& equation) {
    return !slots[static_cast<std::size_t>(equation.slot)];
  });
  std::vector<std::int64_t> symbols(part.symbols.size(), -1);
  add_steps(part, /*of_outputs=*/false, symbols);
  std::erase_if(part.equations, [&](const SizeEquation& equation) {
    return !unknown_symbols(equation.extent, symbols).empty();
  });
  return part;
}

}  // namespace sinter
