#include "sinter/executable.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/simplify/graph_sweep.h"
#include "ir/record/custom.h"
#include "ir/shape/extent.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/driver/deferred_release.h"
#include "runtime/execution/context_state.h"
#include "runtime/execution/make_variant.h"
#include "runtime/execution/plan_target.h"
#include "runtime/logging/debug_log.h"
#include "runtime/logging/trace.h"
#include "runtime/support/background_thread.h"
#include "runtime/support/options_table.h"
#include "sinter/error.h"
#include "sinter/text.h"

namespace sinter {

namespace {

/// Throws UserError if a custom op uses CUDA-only names: the host device compiles plain C++.
void check_portable(const GraphData& graph) {
  for (const Node* node : graph.nodes) {
    if (node->op != Op::custom) continue;
    const std::string_view word = find_unportable_word(attribute(*node, "source").text);
    if (!word.empty())
      throw UserError(fmt::format(
          "custom op {} is not runnable on the host device: {} is outside the portable subset, C++ "
          "and the C library functions that ops have (recorded at {})",
          attribute(*node, "name").text, word, graph.location_text(node)));
  }
}

/// Per output, true if it is a view; empty if none is.
std::vector<bool> views_of(const Interface& interface) {
  std::vector<bool> result;
  for (std::size_t i = static_cast<std::size_t>(interface.input_count); i < interface.slots.size();
       ++i)
    result.push_back(interface.slots[i].view.has_value());
  if (std::ranges::none_of(result, std::identity())) result.clear();
  return result;
}

std::shared_ptr<const Variant> variant_at(ExecutableState& state,
                                          std::span<const std::int64_t> symbols, Views views) {
  const bool leaves_out = views == Views::returned;
  return state.variant_for(
      {.symbols = symbols,
       .unwritten_outputs = leaves_out ? views_of(state.interface) : std::vector<bool>()});
}

}  // namespace

Executable compile(const Graph& graph, Device device, const Options& given, const char* file,
                   int line) {
  if (device.is_host()) check_portable(graph.data());
  const Options options = with_environment(given);
  check_debug(options);
  if (!options.trace.empty()) Trace::begin(options.trace);
  if (options.idle_bytes >= 0) device.state()->memory_pool->set_idle_limit(options.idle_bytes);
  const TraceSpan span("compile", [&] { return fmt::format("compile {}", graph.name()); });
  auto source = std::make_shared<VariantSource>(*device.state(), clone(graph),
                                                plan_target(*device.state(), options), options);
  auto state = std::make_shared<ExecutableState>(
      *device.state(), interface_of(source->graph, {.file = file, .line = line}));
  source->dump.write("graph", "sinter", print(source->graph));
  state->options = options;
  state->target = source->target.name;
  log_line(options, LogLevel::plans, [&] {
    return fmt::format("compile {} on {}, planned for {} (compiled at {})", state->interface.name,
                       state->device.name, state->target, state->interface.compiled_at);
  });
  state->source = source;
  state->check_sizes = [source](std::span<const std::int64_t> symbols) {
    check_sizes(source->graph, symbols);
  };
  state->make_variant = [source](const VariantRequest& request) {
    return make_variant(*source, request);
  };
  Executable executable(std::move(state));
  if (executable.state()->interface.symbols.empty())
    variant_at(*executable.state(), {}, Views::returned);
  return executable;
}

namespace {

/// Fills in the values of the symbols of `extent`, which index `values`.
void find_sizes(Extent extent, std::span<const Size> sizes, std::vector<std::int64_t>& values) {
  if (extent.is_number()) return;
  for (const ExtentTerm& term : extent.expression()->terms)
    for (const ExtentAtom* atom : term.atoms) {
      if (atom->name.empty()) {
        find_sizes(atom->numerator, sizes, values);
        find_sizes(atom->divisor, sizes, values);
        continue;
      }
      const auto size = std::ranges::find(sizes, atom->name, &Size::symbol);
      if (size == sizes.end() || size->value < 0)
        throw UserError(fmt::format("extent_value: the size of {} is {}; pass a number from 0 on", atom->name,
                                    size == sizes.end() ? "missing" : std::to_string(size->value)));
      values[static_cast<std::size_t>(atom->id)] = size->value;
    }
}

}  // namespace

std::int64_t extent_value(Extent extent, std::span<const Size> sizes) {
  if (extent.is_number()) return extent.number();
  std::vector<std::int64_t> values(extent.expression()->table->atoms().size());
  find_sizes(extent, sizes, values);
  return evaluate(extent, std::span<const std::int64_t>(values));
}

std::string_view Executable::name() const { return state_->interface.name; }

std::vector<CallArgument> Executable::arguments() const {
  std::vector<CallArgument> result;
  for (const Slot& slot : state_->interface.slots) {
    const CallArgument::Kind kind = slot.kind == Slot::Kind::input    ? CallArgument::Kind::input
                                : slot.kind == Slot::Kind::scalar ? CallArgument::Kind::scalar
                                                                  : CallArgument::Kind::output;
    result.push_back({kind, slot.name, slot.dtype, type_text(slot), slot.is_written});
  }
  return result;
}
Device Executable::device() const { return Device(&state_->device); }

Context Executable::context(std::initializer_list<GroupCommunicator> communicators) const {
  return context(std::span(communicators.begin(), communicators.size()));
}

Context Executable::context(std::span<const GroupCommunicator> communicators) const {
  run_deferred_releases();
  return Context(std::make_unique<ContextState>(
      state_, weights_, GroupCommunicators(state_->interface, communicators)));
}

Executable Executable::with_weights(BindingList inputs) const {
  return Executable(state_,
                    bind_weights(state_->interface, state_->device, weights_.get(), inputs));
}

Array Executable::weight(std::string_view name) const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; weights_ && i < weights_->arrays.size(); ++i) {
    const std::optional<Array>& array = weights_->arrays[i];
    if (!array) continue;
    names.push_back(state_->interface.slots[i].name);
    if (names.back() == name) return *array;
  }
  fail_binding(state_->interface,
               names.empty()
                   ? fmt::format("there is no weight {}; bind arrays by with_weights", name)
                   : fmt::format("there is no weight {}; the arrays among the weights are {}", name,
                                 fmt::join(names, ", ")));
}

void Executable::prepare(std::initializer_list<Size> sizes, Views views) const {
  prepare(std::span<const Size>(sizes.begin(), sizes.size()), views);
}

void Executable::prepare(std::span<const Size> sizes, Views views) const {
  const Interface& interface = state_->interface;
  std::vector<std::int64_t> symbols(interface.symbols.size(), -1);
  for (const Size& size : sizes) {
    const auto symbol = std::ranges::find(interface.symbols, size.symbol);
    if (symbol == interface.symbols.end())
      throw UserError(fmt::format("prepare {}: there is no size {}; the sizes are {}",
                                  interface.name, size.symbol, fmt::join(interface.symbols, ", ")));
    if (size.value < 0)
      throw UserError(fmt::format("prepare {}: the size {} is {}; it must not be negative",
                                  interface.name, size.symbol, size.value));
    symbols[static_cast<std::size_t>(symbol - interface.symbols.begin())] = size.value;
  }
  for (std::size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i] < 0)
      throw UserError(fmt::format("prepare {}: the size {} is not given; give it a value",
                                  interface.name, interface.symbols[i]));
  const std::shared_ptr<const Variant> variant = variant_at(*state_, symbols, views);
  if (variant->is_provisional) await_background();
}

void Executable::await_background() const { BackgroundThread::process_wide().wait(); }

namespace {

/// Adds a note to each opaque call that is now known to split the CUDA Graph of a replay.
void add_graph_split_notes(const Variant& variant, VariantReport& report) {
  for (std::size_t i = 0; i < variant.kernels.size(); ++i)
    if (const auto& call = variant.kernels[i].opaque; call && !call->may_be_captured())
      report.kernels[i].notes.push_back("a replay breaks its CUDA Graph in two around the call: " +
                                        call->capture_refusal());
}

}  // namespace

Report Executable::report() const {
  Report report{
      .graph = state_->interface.name, .device = state_->device.name, .target = state_->target};
  for (const std::shared_ptr<const Variant>& variant : state_->variants()) {
    report.variants.push_back(variant->report);
    report.variants.back().background_problem = state_->background_problem(variant.get());
    add_graph_split_notes(*variant, report.variants.back());
    report.recorded_ops = variant->program.recorded_ops;
  }
  if (!report.variants.empty()) {
    report.kernels = report.variants.back().kernels;
    report.boundaries = report.variants.back().boundaries;
  }
  if (const CompileService* service = state_->device.compile_service.find())
    report.counters = service->counters();
  report.disk = disk_cache(state_->options.cache).counters();
  return report;
}

std::string tuning_table(const Report& report) {
  std::string text;
  for (const KernelReport& kernel : report.kernels) {
    text += fmt::format("{} ({}): {}\n", kernel.name, kernel.kind, kernel.tuning);
    for (const CandidateReport& candidate : kernel.candidates) {
      const std::string times =
          candidate.median_us > 0
              ? fmt::format("{:9.2f} us [{:.2f}, {:.2f}] {:8.1f} GB/s", candidate.median_us,
                            candidate.lower_quartile_us, candidate.upper_quartile_us,
                            candidate.gigabytes_per_second)
              : "";
      text += fmt::format("  {} {:<60} {} {}\n", candidate.chosen ? '*' : ' ', candidate.schedule,
                          times, candidate.problem);
    }
  }
  return text;
}

}  // namespace sinter
