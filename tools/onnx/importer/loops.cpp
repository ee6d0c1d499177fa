#include "tools/onnx/importer/loops.h"

#include "sinter/views.h"
#include "tools/onnx/importer/subgraph.h"
#include "tools/onnx/ops/axes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

std::vector<ValueRef> all_failed(std::size_t count) {
  return std::vector<ValueRef>(count, std::make_shared<Value>(Value{.is_failed = true}));
}

/// The nodes that an iteration counts as. Its lists take memory, too.
std::int64_t nodes_of_iteration(const Subgraph& body) {
  constexpr std::size_t kItemsPerNode = 256;
  const std::size_t items =
      body.graph.input.size() + body.graph.output.size() + body.graph.initializer.size();
  return 1 + static_cast<std::int64_t>(items / kItemsPerNode);
}

/// The outputs of an iteration. After a problem all have failed, so that it is reported once.
std::vector<ValueRef> import_iteration(ImportState& state, const Subgraph& body,
                                       std::span<const ValueRef> inputs) {
  const std::size_t problems = state.problems.count();
  std::vector<ValueRef> outputs = import_subgraph(state, body, inputs);
  return state.problems.count() > problems ? all_failed(outputs.size()) : outputs;
}

/// The outputs of which every iteration gives one element.
class CollectedOutputs {
 public:
  explicit CollectedOutputs(std::size_t count) : elements_(count) {}

  std::size_t count() const { return elements_.size(); }
  void add(ImportState& state, std::span<const ValueRef> values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      elements_[i].push_back(state.recording.tensor(*values[i]));
  }
  /// The elements of output i along a new axis.
  ValueRef stacked(std::size_t i, int axis, bool is_reversed) {
    std::vector<Tensor>& elements = elements_[i];
    if (elements.empty())
      refuse("it makes no iteration, so that the shape of the outputs that it collects is unknown");
    if (is_reversed) std::ranges::reverse(elements);
    return value_of_tensor(stack(elements, axis));
  }

 private:
  std::vector<std::vector<Tensor>> elements_;  ///< [output][iteration]
};

/// The condition of a loop: a value that is known, or else a Tensor of rank 0.
struct Condition {
  std::optional<bool> known = true;
  Tensor computed = {};

  ValueRef value() const {
    if (!known) return value_of_tensor(computed);
    return std::make_shared<Value>(Value{
        .known = KnownValue{.dtype = boolean, .shape = {}, .items = {Number::of_bool(*known)}}});
  }
};

/// The condition for the next iteration, if all conditions so far must hold.
Condition both(ImportState& state, const Condition& before, Value& next) {
  if (const KnownValue* const known = known_contents(next)) {
    if (known->items.size() != 1) refuse("its condition is no number");
    if (known->items[0].extent.is(0)) return {.known = false};
    return before;
  }
  const Tensor computed = reshape(state.recording.tensor(next), Extents());
  return {.known = std::nullopt,
          .computed = before.known ? computed : logical_and(before.computed, computed)};
}

/// The inputs of the body of a Loop in iteration `i`.
std::vector<ValueRef> loop_arguments(std::int64_t i, const ValueRef& condition,
                                     std::span<const ValueRef> states) {
  std::vector<ValueRef> arguments;
  arguments.push_back(std::make_shared<Value>(
      Value{.known = KnownValue{.dtype = i64, .shape = {}, .items = {Number::of(i)}}}));
  arguments.push_back(condition);
  arguments.insert(arguments.end(), states.begin(), states.end());
  return arguments;
}

}  // namespace

std::vector<ValueRef> import_loop(ImportState& state, const Call& call,
                                  std::span<const ValueRef> inputs, const Scope& scope,
                                  const NodeSurroundings& around) {
  const Subgraph body{.graph = call.attributes().graph("body"),
                      .name = "body of a Loop",
                      .scope = scope,
                      .around = around};
  if (inputs.size() < 2) refuse(fmt::format("it has {} inputs; it takes 2 or more", inputs.size()));
  std::vector<ValueRef> states(inputs.begin() + 2, inputs.end());
  const std::size_t outputs = body.graph.output.size();
  if (std::ranges::count(states, nullptr) > 0) refuse("one of its initial values is missing");
  if (outputs < 1 + states.size())
    refuse(fmt::format("its body has {} outputs; for {} carried values it needs {} or more",
                       outputs, states.size(), 1 + states.size()));
  CollectedOutputs collected(outputs - 1 - states.size());
  const bool collects = outputs > 1 + states.size();
  const std::int64_t trips =
      call.has_input(0) ? call.integer(0, "trip count") : std::numeric_limits<std::int64_t>::max();
  Condition condition;
  const bool has_condition = call.has_input(1);
  if (!has_condition && !call.has_input(0))
    refuse("it has neither a trip count nor a condition, so that it never ends; give it one");
  if (has_condition) {
    // The number of collected elements must be known, and so must be one of the two limits.
    if (collects || !call.has_input(0)) call.flag(1, "condition");
    condition = both(state, condition, *inputs[1]);
  }
  ValueRef seen = condition.value();  // by the body
  for (std::int64_t i = 0; i < trips && condition.known.value_or(true); ++i) {
    if (!take_room(state, nodes_of_iteration(body))) return all_failed(outputs - 1);
    const std::vector<ValueRef> results =
        import_iteration(state, body, loop_arguments(i, seen, states));
    if (has_failed(results)) return all_failed(outputs - 1);
    const auto carried = std::span(results).subspan(1, states.size());
    if (condition.known)
      states.assign(carried.begin(), carried.end());
    else
      states = selected(state, condition.computed, carried, states);
    collected.add(state, std::span(results).subspan(1 + states.size()));
    seen = results[0];
    if (!has_condition) continue;  // The body's condition does not end such a loop.
    condition = both(state, condition, *results[0]);
    seen = condition.value();
    if (!condition.known && (collects || !call.has_input(0)))
      refuse(
          "its condition is computed at run time, so that the number of its iterations is unknown");
  }
  for (std::size_t i = 0; i < collected.count(); ++i) {
    const bool is_wanted = call.wants_output(states.size());
    states.push_back(is_wanted ? collected.stacked(i, 0, false) : nullptr);
  }
  return states;
}

namespace {

/// The attributes of a Scan.
struct ScanPlan {
  std::size_t states = 0;  ///< carried values
  std::vector<std::int64_t> input_axes, input_reversed, output_axes, output_reversed;
};

/// The attribute `name`, or zeros.
std::vector<std::int64_t> scan_list(const Call& call, const char* name, std::size_t count) {
  std::vector<std::int64_t> list =
      call.attributes().integers(name, std::vector<std::int64_t>(count, 0));
  if (list.size() != count)
    refuse(fmt::format("{} has {} numbers; it needs {}", name, list.size(), count));
  return list;
}

/// Runs the body for all elements of `scanned`.
std::vector<ValueRef> scanned_outputs(ImportState& state, const Subgraph& body,
                                      const ScanPlan& plan, std::vector<ValueRef> states,
                                      std::span<const Tensor> scanned) {
  const std::size_t outputs = body.graph.output.size();
  const std::size_t collects = outputs - plan.states;
  std::vector<int> axes;
  std::int64_t length = 0;
  for (std::size_t i = 0; i < scanned.size(); ++i) {
    axes.push_back(static_cast<int>(checked_axis(plan.input_axes[i], scanned[i].rank())));
    const std::int64_t extent =
        number_of(scanned[i].shape()[static_cast<std::size_t>(axes.back())]);
    if (i > 0 && extent != length)
      refuse(fmt::format("its scanned inputs have {} and {} elements", length, extent));
    length = extent;
  }
  CollectedOutputs collected(collects);
  for (std::int64_t t = 0; t < length; ++t) {
    if (!take_room(state, nodes_of_iteration(body))) return all_failed(outputs);
    std::vector<ValueRef> arguments = states;
    for (std::size_t i = 0; i < scanned.size(); ++i) {
      const std::int64_t at = plan.input_reversed[i] != 0 ? length - 1 - t : t;
      arguments.push_back(value_of_tensor(select(scanned[i], axes[i], at)));
    }
    const std::vector<ValueRef> results = import_iteration(state, body, arguments);
    if (has_failed(results)) return all_failed(outputs);
    states.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(plan.states));
    collected.add(state, std::span(results).subspan(plan.states));
  }
  for (std::size_t i = 0; i < collects; ++i)
    states.push_back(
        collected.stacked(i, static_cast<int>(plan.output_axes[i]), plan.output_reversed[i] != 0));
  return states;
}

/// Before opset 9, all inputs have a batch axis in front. The batch elements are scanned one by
/// one.
std::vector<ValueRef> batched_scan(ImportState& state, const Subgraph& body, const ScanPlan& plan,
                                   std::span<const Tensor> states,
                                   std::span<const Tensor> scanned) {
  const std::size_t outputs = body.graph.output.size();
  const auto element = [](const Tensor& x, std::int64_t b) { return select(x, 0, b); };
  for (const std::span<const Tensor> tensors : {states, scanned})
    for (const Tensor& x : tensors)
      if (x.rank() == 0) refuse("an input has no batch axis");
  const std::int64_t batch = number_of(scanned[0].shape()[0]);
  const std::size_t problems = state.problems.count();
  CollectedOutputs collected(outputs);
  for (std::int64_t b = 0; b < batch; ++b) {
    if (!take_room(state, nodes_of_iteration(body)) || state.problems.count() > problems)
      return all_failed(outputs);
    std::vector<ValueRef> initial;
    std::vector<Tensor> sequences;
    for (const Tensor& x : states) initial.push_back(value_of_tensor(element(x, b)));
    for (const Tensor& x : scanned) sequences.push_back(element(x, b));
    const std::vector<ValueRef> results = scanned_outputs(state, body, plan, initial, sequences);
    if (has_failed(results)) return all_failed(outputs);
    collected.add(state, results);
  }
  std::vector<ValueRef> all;
  for (std::size_t i = 0; i < outputs; ++i) all.push_back(collected.stacked(i, 0, false));
  return all;
}

}  // namespace

std::vector<ValueRef> import_scan(ImportState& state, const Call& call,
                                  std::span<const ValueRef> inputs, const Scope& scope,
                                  const NodeSurroundings& around) {
  const Subgraph body{.graph = call.attributes().graph("body"),
                      .name = "body of a Scan",
                      .scope = scope,
                      .around = around};
  const bool is_batched = call.opset() < 9;
  if (is_batched && call.has_input(0))
    refuse("it has lengths of sequences; sinter scans whole ones");
  const std::size_t first = is_batched ? 1 : 0;
  const std::int64_t count = call.attributes().integer("num_scan_inputs");
  const std::size_t outputs = body.graph.output.size();
  if (count < 1 || first + static_cast<std::size_t>(count) > inputs.size())
    refuse(fmt::format("it has {} inputs, of which {} are scanned", inputs.size(), count));
  const auto scans = static_cast<std::size_t>(count);
  ScanPlan plan{.states = inputs.size() - first - scans};
  if (outputs < plan.states)
    refuse(fmt::format("its body has {} outputs; it carries {} values", outputs, plan.states));
  plan.input_axes = scan_list(call, "scan_input_axes", scans);
  plan.input_reversed = scan_list(call, is_batched ? "directions" : "scan_input_directions", scans);
  plan.output_axes = scan_list(call, "scan_output_axes", outputs - plan.states);
  for (const std::int64_t axis : plan.output_axes)
    if (!std::in_range<int>(axis)) refuse(fmt::format("it has no output axis {}", axis));
  plan.output_reversed = scan_list(call, "scan_output_directions", outputs - plan.states);

  std::vector<Tensor> tensors;
  for (std::size_t i = first; i < inputs.size(); ++i) tensors.push_back(call.tensor(i));
  const auto scanned = std::span(tensors).subspan(plan.states);
  if (is_batched)
    return batched_scan(state, body, plan, std::span(tensors).first(plan.states), scanned);
  const auto initial = inputs.subspan(0, plan.states);
  return scanned_outputs(state, body, plan, {initial.begin(), initial.end()}, scanned);
}

}  // namespace sinter::onnx
