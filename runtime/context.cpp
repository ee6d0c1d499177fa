#include <fmt/format.h>

#include <algorithm>

#include "ir/extent.h"
#include "runtime/context_state.h"
#include "sinter/error.h"
#include "sinter/executable.h"

namespace sinter {

namespace {

/// Fresh arrays for every output, given the sizes.
std::vector<Array> make_outputs(const ExecutableState& executable,
                                std::span<const std::int64_t> symbols) {
  const Interface& interface = executable.interface;
  const auto numbers = [&](std::span<const Extent> extents) {
    std::vector<std::int64_t> result;
    for (const Extent extent : extents) result.push_back(evaluate(extent, symbols));
    return result;
  };
  std::vector<Array> arrays;
  for (std::size_t i = static_cast<std::size_t>(interface.input_count); i < interface.slots.size();
       ++i) {
    const Slot& slot = interface.slots[i];
    arrays.push_back(
        Device(&executable.device).empty(slot.dtype, numbers(slot.shape), numbers(slot.strides)));
  }
  return arrays;
}

/// Points `matched` at what `state` holds.
Matched matched_of(const BindingsState& state) {
  Matched matched{.arrays = {}, .handles = {}, .numbers = state.numbers};
  for (const std::unique_ptr<Array>& array : state.arrays)
    matched.arrays.push_back(array ? &array->data() : nullptr);
  return matched;
}

}  // namespace

Context::Context(std::unique_ptr<ContextState> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

void Context::run(const Stream& stream, BindingList inputs, BindingList outputs) {
  state_->run_named(stream.state(), inputs, outputs, /*as_graph=*/false);
}

void Context::replay(const Stream& stream, BindingList inputs, BindingList outputs) {
  state_->run_named(stream.state(), inputs, outputs, /*as_graph=*/true);
}

Outputs Context::run(const Stream& stream, BindingList inputs) {
  const ExecutableState& executable = *state_->executable;
  const Interface& interface = executable.interface;
  // A matcher of its own: nothing of this Context is touched before it is known to be free.
  Matcher matcher(interface);
  const std::vector<std::int64_t> symbols =
      symbols_of_inputs(interface, executable.device, matcher.match_inputs(inputs));
  executable.check_sizes(symbols);
  Outputs result;
  result.executable_ = state_->executable;
  result.arrays_ = make_outputs(executable, symbols);
  std::vector<Binding> outputs;
  for (std::size_t i = 0; i < result.arrays_.size(); ++i)
    outputs.emplace_back(interface.slots[static_cast<std::size_t>(interface.input_count) + i].name,
                         result.arrays_[i]);
  run(stream, inputs, outputs);
  return result;
}

void Context::run(const Stream& stream, const Bindings& bindings) {
  state_->run_prepared(stream.state(), *bindings.state_, /*as_graph=*/false);
}

void Context::replay(const Stream& stream, const Bindings& bindings) {
  state_->run_prepared(stream.state(), *bindings.state_, /*as_graph=*/true);
}

Bindings Context::bind(BindingList inputs, BindingList outputs) const {
  const ExecutableState& executable = *state_->executable;
  Matcher matcher(executable.interface);
  const Matched& matched = matcher.match(inputs, outputs);
  auto state = std::make_shared<BindingsState>();
  state->executable = state_->executable;
  state->numbers = matched.numbers;
  for (const Array* array : matched.handles)
    state->arrays.push_back(array ? std::make_unique<Array>(*array) : nullptr);
  check_and_update(executable.interface, executable.device, matched, state->bound);
  return Bindings(std::move(state));
}

void Bindings::set(std::string_view name, const Array& array) { set(Binding(name, array)); }

void Bindings::set(const Binding& binding) {
  const ExecutableState& executable = *state_->executable;
  const auto slot = static_cast<std::size_t>(find_slot(executable.interface, binding));
  Matched matched = matched_of(*state_);
  matched.arrays[slot] = binding.array ? &binding.array->data() : nullptr;
  matched.numbers[slot] = binding.number;
  // What is bound stays as it was if the check fails.
  Bound bound = state_->bound;
  check_and_update(executable.interface, executable.device, matched, bound);
  state_->bound = std::move(bound);
  state_->arrays[slot] = binding.array ? std::make_unique<Array>(*binding.array) : nullptr;
  state_->numbers[slot] = binding.number;
}

Context::Counters Context::counters() const {
  Counters counters{.kernel_launches = state_->kernel_launches};
  for (const std::unique_ptr<Lane>& lane : state_->lanes) {
    counters.graph_builds += lane->graph.builds();
    counters.patched_nodes += lane->graph.patched_nodes();
    counters.graph_launches += lane->graph.launches();
  }
  return counters;
}

const Array& Outputs::operator[](int index) const {
  if (index < 0 || index >= size())
    throw UserError(
        fmt::format("outputs of {}: there is no output {}; there are {}, counted from 0",
                    executable_ ? executable_->interface.name : "nothing", index, arrays_.size()));
  return arrays_[static_cast<std::size_t>(index)];
}

const Array& Outputs::operator[](std::string_view name) const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const Interface& interface = executable_->interface;
    names.push_back(interface.slots[static_cast<std::size_t>(interface.input_count) + i].name);
    if (names.back() == name) return arrays_[i];
  }
  throw UserError(fmt::format("outputs of {}: there is no output {}; there are {}",
                              executable_ ? executable_->interface.name : "nothing", name,
                              fmt::join(names, ", ")));
}

}  // namespace sinter
