#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/shape/extent.h"
#include "runtime/device/stream_capture.h"
#include "runtime/execution/context_state.h"
#include "sinter/error.h"
#include "sinter/executable.h"

namespace sinter {

namespace {

/// The view of `base` that `slot` describes.
Array view_of(const Slot& slot, const Array& base, std::span<const std::int64_t> symbols) {
  const std::vector<std::int64_t> shape = evaluate_all(slot.shape, symbols);
  // An empty view may begin past the end of its base.
  const std::int64_t offset =
      std::ranges::count(shape, 0) ? 0 : evaluate(slot.view->offset, symbols) * size_of(slot.dtype);
  return base.view(offset, slot.dtype, shape, evaluate_all(slot.view->strides, symbols));
}

/// The id of `stream` if it is the first to use the outputs; 0 if that is not known.
std::uint64_t first_user(const ExecutableState& executable, const StreamState& stream) {
  if (!executable.device.memory_pool->is_caching() || &stream.device != &executable.device)
    return 0;
  const CurrentContext current(executable.device);
  // A captured run may be launched on any stream later.
  return is_captured(executable.interface.name, stream) ? 0 : stream.id;
}

/// A new array for each output that is not a view, and nullopt for each view.
std::vector<std::optional<Array>> make_outputs(const ExecutableState& executable,
                                               std::span<const std::int64_t> symbols,
                                               const StreamState& stream) {
  const Interface& interface = executable.interface;
  const std::uint64_t user = first_user(executable, stream);
  std::vector<std::optional<Array>> arrays;
  for (std::size_t i = static_cast<std::size_t>(interface.input_count); i < interface.slots.size();
       ++i) {
    const Slot& slot = interface.slots[i];
    arrays.emplace_back();
    if (!slot.view)
      arrays.back() = empty_array(executable.device, slot.dtype, evaluate_all(slot.shape, symbols),
                                  evaluate_all(slot.strides, symbols), user);
  }
  return arrays;
}

/// The arrays and numbers of `state` as a MatchedArguments. The pointers refer to `state`.
MatchedArguments matched_of(const BindingsState& state) {
  MatchedArguments matched{.arrays = {}, .handles = {}, .numbers = state.numbers};
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
  // Uses a separate matcher, since the Context may be in use by another thread until run() below
  // has checked that.
  ArgumentMatcher matcher(interface, state_->weights.get());
  const MatchedArguments& matched = matcher.match_inputs(inputs);
  const std::vector<std::int64_t> symbols =
      symbols_of_inputs(interface, executable.device, matched);
  executable.check_sizes(symbols);
  const std::vector<std::optional<Array>> made = make_outputs(executable, symbols, *stream.state());
  const auto first = static_cast<std::size_t>(interface.input_count);
  std::vector<Binding> outputs;
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made[i]) outputs.emplace_back(interface.slots[first + i].name, *made[i]);
  run(stream, inputs, outputs);
  Outputs result;
  result.executable_ = state_->executable;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Slot& slot = interface.slots[first + i];
    if (made[i]) {
      result.arrays_.push_back(*made[i]);
      continue;
    }
    const auto base = static_cast<std::size_t>(slot.view->base);
    result.arrays_.push_back(
        view_of(slot, base < first ? *matched.handles[base] : *made[base - first], symbols));
  }
  return result;
}

void Context::run(const Stream& stream, const Bindings& bindings) {
  state_->run_prepared(stream.state(), *bindings.state_, /*as_graph=*/false);
}

void Context::replay(const Stream& stream, const Bindings& bindings) {
  state_->run_prepared(stream.state(), *bindings.state_, /*as_graph=*/true);
}

void Context::check() const { state_->host_functions->throw_if_failed(); }

Bindings Context::bind(BindingList inputs, BindingList outputs) const {
  const ExecutableState& executable = *state_->executable;
  ArgumentMatcher matcher(executable.interface, state_->weights.get());
  const MatchedArguments& matched = matcher.match(inputs, outputs);
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
  MatchedArguments matched = matched_of(*state_);
  matched.arrays[slot] = binding.array ? &binding.array->data() : nullptr;
  matched.numbers[slot] = binding.number;
  // Checked on a copy, so that a failed check leaves the bindings unchanged.
  CheckedArguments bound = state_->bound;
  check_and_update(executable.interface, executable.device, matched, bound);
  state_->bound = std::move(bound);
  state_->arrays[slot] = binding.array ? std::make_unique<Array>(*binding.array) : nullptr;
  state_->numbers[slot] = binding.number;
}

Context::Counters Context::counters() const {
  Counters counters{.kernel_launches = state_->kernel_launches};
  for (const std::unique_ptr<VariantState>& variant : state_->variant_states) {
    counters.graph_builds += variant->graph.builds();
    counters.patched_nodes += variant->graph.patched_nodes();
    counters.graph_launches += variant->graph.launches();
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
