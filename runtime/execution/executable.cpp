#include "sinter/executable.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/simplify/graph_sweep.h"
#include "ir/record/custom.h"
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
  auto source = std::make_shared<VariantSource>(
      *device.state(), clone(graph), plan_target(*device.state(), options), options);
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

std::shared_ptr<const Variant> ExecutableState::find(const VariantNeed& need) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      variants_, [&](const std::shared_ptr<const Variant>& one) { return serves(*one, need); });
  return found == variants_.end() ? nullptr : *found;
}

std::string ExecutableState::why_none(const VariantNeed& need) const {
  std::string reason = "the first";
  const std::vector<std::shared_ptr<const Variant>> all = variants();
  for (const std::shared_ptr<const Variant>& variant : all) {
    const bool is_as_aligned = variant->alignment == need.alignment;
    if (is_as_aligned && variant->unwritten_outputs == need.unwritten_outputs)
      reason = broken_guard(variant->program, need.symbols);
    else if (all.size() == 1 || reason == "the first")
      reason = is_as_aligned ? "a different set of view outputs is written"
                             : fmt::format("a pointer is a multiple of {} bytes, not of {}",
                                           need.alignment, variant->alignment);
  }
  return reason;
}

std::shared_ptr<const Variant> ExecutableState::variant_for(const VariantNeed& need) {
  check_sizes(need.symbols);
  if (std::shared_ptr<const Variant> known = find(need)) return known;
  const CaptureModeGuard relaxed(device.driver);
  const std::lock_guard lock(make_mutex_);
  if (std::shared_ptr<const Variant> known = find(need)) return known;  // made meanwhile
  VariantRequest request{.symbols = {need.symbols.begin(), need.symbols.end()},
                         .alignment = need.alignment,
                         .unwritten_outputs = need.unwritten_outputs,
                         .reason = why_none(need),
                         .wants_default_schedules = options.never_stall};
  std::shared_ptr<const Variant> made = find_provisional(need, request);
  if (!made) made = make_variant(request);
  add(made);
  if (made->is_provisional) replace_in_background(made, std::move(request));
  return made;
}

std::shared_ptr<const Variant> ExecutableState::find_provisional(
    const VariantNeed& need, const VariantRequest& request) const {
  if (!options.never_stall || !source) return nullptr;
  const std::shared_ptr<Variant> found = with_lower_alignment(variants(), need);
  if (!found) return nullptr;
  found->is_provisional = found->report.is_provisional = true;
  found->report.reason = request.reason;
  found->report.plan_ms = found->report.compile_ms = found->report.tune_ms = 0;
  for (KernelReport& kernel : found->report.kernels)
    if (kernel.tuning != kCallTuning)
      kernel.tuning = "as for less aligned pointers, until the kernel for these pointers is ready";
  return found;
}

void ExecutableState::replace_in_background(std::shared_ptr<const Variant> provisional,
                                            VariantRequest request) {
  request.wants_default_schedules = false;
  request.is_in_background = true;
  const Variant* const which = provisional.get();
  try {
    request.cancellation = {
        .stop_token = BackgroundThread::process_wide().stop_token(),
        // A count of 1 is the background's own reference while it makes the variant.
        .is_abandoned = [self = weak_from_this()] { return self.use_count() <= 1; }};
    BackgroundThread::process_wide().add([self = weak_from_this(),
                                          provisional = std::move(provisional),
                                          request = std::move(request)] {
      // If no handle is left, the program cannot run again.
      if (const std::shared_ptr<ExecutableState> executable = self.lock())
        executable->replace_provisional(provisional, request);
    });
  } catch (const std::exception& error) {
    record_background_problem(which, error.what());
  }
}

void ExecutableState::replace_provisional(const std::shared_ptr<const Variant>& provisional,
                                          const VariantRequest& request) {
  try {
    const CaptureModeGuard relaxed(device.driver);  // the caller may capture on another thread
    const std::shared_ptr<const Variant> better = make_variant(request);
    {
      const std::lock_guard lock(mutex_);
      std::ranges::replace(variants_, provisional, better);
    }
    generation_.fetch_add(1, std::memory_order_release);
  } catch (const Cancelled&) {  // no handle is left that could report it
  } catch (const std::exception& error) {
    record_background_problem(provisional.get(), error.what());
  } catch (...) {
    record_background_problem(provisional.get(),
                              "an exception that is not a std::exception was thrown");
  }
}

void ExecutableState::record_background_problem(const Variant* provisional,
                                                std::string_view problem) noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      background_problems_[provisional] = problem;
    }
    log_line(options, LogLevel::notes, [&] {
      return fmt::format(
          "{}: the default schedules stay, because tuning in the background failed: {}",
          interface.name, problem);
    });
  } catch (...) {  // out of memory, or the log failed: the problem cannot be reported
  }
}

std::string ExecutableState::background_problem(const Variant* variant) const {
  const std::lock_guard lock(mutex_);
  const auto found = background_problems_.find(variant);
  return found == background_problems_.end() ? std::string() : found->second;
}

std::vector<std::shared_ptr<const Variant>> ExecutableState::variants() const {
  const std::lock_guard lock(mutex_);
  return variants_;
}

void ExecutableState::add(std::shared_ptr<const Variant> variant) {
  const std::lock_guard lock(mutex_);
  variants_.push_back(std::move(variant));
}

std::string_view Executable::name() const { return state_->interface.name; }
Device Executable::device() const { return Device(&state_->device); }

Context Executable::context() const {
  run_deferred_releases();
  return Context(std::make_unique<ContextState>(state_));
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
