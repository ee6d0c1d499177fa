#include "sinter/executable.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/rewrite.h"
#include "ir/bind.h"
#include "ir/custom.h"
#include "runtime/compile_service.h"
#include "runtime/context_state.h"
#include "runtime/debug_log.h"
#include "runtime/disk_cache/disk_cache.h"
#include "runtime/make_variant.h"
#include "runtime/options_table.h"
#include "runtime/trace.h"
#include "sinter/error.h"
#include "sinter/text.h"

namespace sinter {

namespace {

/// What kernels are planned for: the GPU itself, or the one that the host device stands in for.
Target target_of(const DeviceState& device, const Options& options) {
  if (options.target.empty()) return device.target;
  if (!device.is_host)
    throw UserError(
        fmt::format("options.target is {}, but {} is planned for as itself; leave it empty",
                    options.target, device.name));
  if (const Target* target = find_target(options.target)) return *target;
  std::vector<std::string_view> names;
  for (const Target& target : known_targets()) names.push_back(target.name);
  throw UserError(fmt::format("options.target: there is no GPU {}; known are {}", options.target,
                              fmt::join(names, ", ")));
}

}  // namespace

namespace {

/// The host device runs C++; snippets in CUDA's own words are for GPUs.
void check_portable(const GraphData& graph) {
  for (const Node* node : graph.nodes) {
    if (node->op != Op::custom) continue;
    const std::string_view word = unportable_word(attribute(*node, "source").text);
    if (!word.empty())
      throw UserError(fmt::format(
          "custom op {} is not runnable on the host device: {} is outside the portable subset, C++ "
          "and the functions of the C library that ops have (recorded at {})",
          attribute(*node, "name").text, word, graph.place(node)));
  }
}

/// Which outputs are views; empty if none is.
std::vector<bool> views_of(const Interface& interface) {
  std::vector<bool> result;
  for (std::size_t i = static_cast<std::size_t>(interface.input_count); i < interface.slots.size();
       ++i)
    result.push_back(interface.slots[i].view.has_value());
  if (std::ranges::none_of(result, std::identity())) result.clear();
  return result;
}

}  // namespace

Executable compile(const Graph& graph, Device device, const Options& given, const char* file,
                   int line) {
  if (device.is_host()) check_portable(graph.data());
  const Options options = with_environment(given);
  if (options.debug < 0 || options.debug > 4)
    throw UserError(fmt::format("options.debug is {}; expected 0, 1, 2, 3 or 4", options.debug));
  if (!options.trace.empty()) Trace::begin(options.trace);
  const TraceSpan span("compile", [&] { return fmt::format("compile {}", graph.name()); });
  auto source = std::make_shared<VariantSource>(*device.state(), clone(graph),
                                                target_of(*device.state(), options), options);
  auto state = std::make_shared<ExecutableState>(
      *device.state(), interface_of(source->graph, {.file = file, .line = line}));
  source->dump.write("graph", "sinter", print(source->graph));
  state->options = options;
  state->target = source->target.name;
  tell(options, Rung::plans, [&] {
    return fmt::format("compile {} on {}, planned for {} (compiled at {})", state->interface.name,
                       state->device.name, state->target, state->interface.place);
  });
  state->check_sizes = [source](std::span<const std::int64_t> symbols) {
    check_sizes(source->graph, symbols);
  };
  state->make_variant = [source](const VariantRequest& request) {
    return make_variant(*source, request);
  };
  Executable executable(std::move(state));
  if (executable.state()->interface.symbols.empty()) executable.prepare({});
  return executable;
}

std::shared_ptr<const Variant> ExecutableState::variant_for(const VariantNeed& need) {
  const std::lock_guard lock(mutex_);
  std::string reason = "the first";
  for (const std::shared_ptr<const Variant>& variant : variants_) {
    if (serves(*variant, need)) return variant;
    const bool is_as_aligned = variant->alignment == need.alignment;
    if (is_as_aligned && variant->left_out == need.left_out)
      reason = broken_guard(variant->program, need.symbols);
    else if (variants_.size() == 1 || reason == "the first")
      reason = is_as_aligned ? "other outputs that are views are written"
                             : fmt::format("a pointer is a multiple of {} bytes, not of {}",
                                           need.alignment, variant->alignment);
  }
  variants_.push_back(make_variant({.symbols = {need.symbols.begin(), need.symbols.end()},
                                    .alignment = need.alignment,
                                    .left_out = need.left_out,
                                    .reason = std::move(reason)}));
  return variants_.back();
}

std::vector<std::shared_ptr<const Variant>> ExecutableState::variants() const {
  const std::lock_guard lock(mutex_);
  return variants_;
}

std::string_view Executable::name() const { return state_->interface.name; }
Device Executable::device() const { return Device(&state_->device); }

Context Executable::context() const { return Context(std::make_unique<ContextState>(state_)); }

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
  state_->check_sizes(symbols);
  state_->variant_for(
      {.symbols = symbols,
       .left_out = views == Views::returned ? views_of(interface) : std::vector<bool>()});
}

namespace {

/// Which calls a replay makes between CUDA Graphs, as far as that is known by now.
void note_breaks(const Variant& variant, VariantReport& report) {
  for (std::size_t i = 0; i < variant.kernels.size(); ++i)
    if (const auto& call = variant.kernels[i].opaque; call && !call->may_be_captured())
      report.kernels[i].notes.push_back("a replay breaks its CUDA Graph in two around the call: " +
                                        call->why_not_captured());
}

}  // namespace

Report Executable::report() const {
  Report report{
      .graph = state_->interface.name, .device = state_->device.name, .target = state_->target};
  for (const std::shared_ptr<const Variant>& variant : state_->variants()) {
    report.variants.push_back(variant->report);
    note_breaks(*variant, report.variants.back());
    report.recorded_ops = variant->program.recorded_ops;
  }
  if (!report.variants.empty()) {
    report.kernels = report.variants.back().kernels;
    report.boundaries = report.variants.back().boundaries;
  }
  if (state_->device.compile_service) report.counters = state_->device.compile_service->counters();
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
