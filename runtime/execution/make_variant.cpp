#include "runtime/execution/make_variant.h"

#include <fmt/format.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <chrono>

#include "codegen/emit.h"
#include "compiler/program/guards.h"
#include "compiler/simplify/graph_sweep.h"
#include "ir/shape/extent.h"
#include "ir/support/elapsed.h"
#include "ir/text/print.h"
#include "runtime/cache/disk_algorithms.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/device/launch_grid.h"
#include "runtime/execution/variant_report.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/debug_log.h"
#include "runtime/logging/trace.h"
#include "runtime/tuning/choose_candidate.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// Adds a pass that has just ended to the trace and the log.
void note_pass(const Options& options, std::string_view pass, double milliseconds) {
  const std::chrono::nanoseconds duration(static_cast<std::int64_t>(milliseconds * 1e6));
  Trace::add_host("plan", pass, TraceClock::now() - duration, duration);
  log_line(options, LogLevel::passes,
           [&] { return fmt::format("pass {}: {:.2f} ms", pass, milliseconds); });
}

/// Lets the program serve only these sizes.
void guard_sizes(Program& program, std::span<const std::int64_t> symbols) {
  ExtentTable& table = *program.graph->data().extents;
  for (std::size_t i = 0; i < symbols.size(); ++i)
    add_guard(program.guards, {.value = table.symbol(table.symbols()[i]->name),
                               .low = symbols[i],
                               .high = symbols[i],
                               .reason = "its kernels are specialized for this size"});
}

Program plan_for(VariantSource& from, const VariantRequest& request) {
  PlanOptions options{.fuse = from.options.fuse,
                      .numerics = {.rounding = from.options.rounding, .math = from.options.math},
                      .skip = from.options.skip,
                      .unwritten_outputs = request.unwritten_outputs,
                      .bucket_bytes = from.options.bucket_bytes};
  options.dump = [&](std::string_view pass, const std::string& text) {
    from.dump.write(pass, extension_of(text), text);
  };
  if (Trace::is_on() || is_logged(from.options, LogLevel::passes))
    options.timed = [&](std::string_view pass, double milliseconds) {
      note_pass(from.options, pass, milliseconds);
    };
  const Facts facts{.symbols = request.symbols, .alignment = request.alignment};
  const TraceSpan span("plan", [&] { return fmt::format("plan {}", from.graph.name()); });
  count(Count::plans);
  Program program = request.is_specialized ? plan(clone_with_sizes(from.graph, request.symbols),
                                                  from.target, facts, options)
                                           : plan(from.graph, from.target, facts, options);
  if (request.is_specialized) guard_sizes(program, request.symbols);
  const std::string broken = broken_guard(program, request.symbols);
  ensure(broken.empty(), "a plan breaks its own guard: " + broken);
  return program;
}

std::vector<CompileResult> compile_all(VariantSource& from, std::span<const EmittedKernel> emitted,
                                       const std::stop_token& stop_token) {
  std::vector<CompileUnit> units;
  for (const EmittedKernel& kernel : emitted)
    if (!kernel.is_call) units.emplace_back(kernel.sources);
  const TraceSpan span("compile",
                       [&] { return fmt::format("compile kernels of {}", from.graph.name()); });
  std::vector<CompileResult> compiled = from.device.compile_service.get(from.device)
                                            .compile(units, compile_settings(from), stop_token);
  if (compiled.size() == emitted.size()) return compiled;
  std::vector<CompileResult> results;  // empty for opaque calls
  auto next = compiled.begin();
  for (const EmittedKernel& kernel : emitted)
    results.push_back(kernel.is_call ? CompileResult() : std::move(*next++));
  return results;
}

/// Logs where each kernel came from, and the hits and misses of the disk cache since `before`.
void log_cache_use(const VariantSource& from, const Program& program,
                   std::span<const CompileResult> compiled, const DiskCounters& before) {
  for (std::size_t i = 0; i < compiled.size(); ++i)
    if (compiled[i].unit)
      write_log_line(from.options,
                     compiled[i].was_cached
                         ? fmt::format("kernel {}: from the cache", program.kernels[i].name)
                         : fmt::format("kernel {}: compiled in {:.1f} ms", program.kernels[i].name,
                                       compiled[i].unit->milliseconds));
  const DiskCounters after = disk_cache(from.options.cache).counters();
  if (!after.why_off.empty())
    return write_log_line(from.options, "disk cache: not used: " + after.why_off);
  std::string reasons;
  for (const DiskCounters::Reason& reason : after.reasons) {
    const auto known = std::ranges::find(before.reasons, reason.text, &DiskCounters::Reason::text);
    const std::int64_t more = reason.count - (known == before.reasons.end() ? 0 : known->count);
    if (more > 0) reasons += fmt::format("; {}: {}", reason.text, more);
  }
  write_log_line(from.options,
                 fmt::format("disk cache {}: {} hits, {} misses{}", after.directory,
                             after.hits - before.hits, after.misses - before.misses, reasons));
}

void log_schedules(const Options& options, const Program& program, const VariantReport& report) {
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const KernelReport& kernel = report.kernels[i];
    if (kernel.kind == name(KernelKind::opaque)) continue;
    write_log_line(options, fmt::format("kernel {}: {}, {}; {} blocks of {} threads; {}",
                                        program.kernels[i].name, kernel.kind, kernel.schedule,
                                        kernel.grid, kernel.threads, kernel.tuning));
    for (const CandidateReport& candidate : kernel.candidates)
      if (candidate.median_us > 0)
        write_log_line(options, fmt::format("  {} {}: {:.2f} us [{:.2f}, {:.2f}]",
                                            candidate.chosen ? '*' : '-', candidate.schedule,
                                            candidate.median_us, candidate.lower_quartile_us,
                                            candidate.upper_quartile_us));
  }
}

void dump_compiled(Dump& dump, std::span<const CompileResult> compiled) {
  for (const CompileResult& result : compiled) {
    if (!result.unit || result.unit->image.empty()) continue;
    const CompiledUnit& unit = *result.unit;
    dump.write("ptx", "ptx", unit.ptx);
    dump.write("cubin", "cubin",
               {reinterpret_cast<const char*>(unit.image.data()), unit.image.size()});
  }
}

/// True if the variant gets the default schedules now although tuning may find better ones.
bool is_provisional(const Options& options, const VariantRequest& request) {
  return request.wants_default_schedules && options.tune != Tune::off &&
         options.force_candidate < 0;
}

/// One line per kernel: its launch at the sizes of the variant.
std::string launch_text(const VariantReport& report) {
  std::string text;
  for (const KernelReport& kernel : report.kernels)
    if (kernel.kind == name(KernelKind::opaque))
      text += fmt::format("{}: an opaque call\n", kernel.name);
    else
      text +=
          fmt::format("{}: {} blocks of {} threads, {} bytes of shared memory, {}\n", kernel.name,
                      kernel.grid, kernel.threads, kernel.shared_bytes, kernel.schedule);
  return text;
}

}  // namespace

EmittedKernel emit_candidates(const Program& program, const Kernel& kernel, std::size_t most) {
  EmittedKernel emitted;
  if (kernel.kind == KernelKind::opaque)
    return {.sources = {source_of_call(program, kernel)}, .schedules = {{}}, .is_call = true};
  std::vector<Schedule> schedules = kernel.candidates.list();
  if (schedules.empty()) schedules.push_back(kernel.schedule);
  const std::string name = legal_name(program.graph->name());
  for (const Schedule& schedule : schedules) {
    if (emitted.sources.size() == most) break;
    // The name contains a hash of the code, so that equal kernels have equal names.
    std::string code = anonymous_text(program, kernel, schedule);
    const std::uint64_t hash = llvm::xxh3_64bits(llvm::StringRef(code));
    Source source = emit(program, kernel, schedule, fmt::format("{}_{:016x}", name, hash));
    source.code_key = std::move(code);
    if (std::ranges::count(emitted.sources, source.code_key, &Source::code_key)) continue;
    emitted.sources.push_back(std::move(source));
    emitted.schedules.push_back(schedule);
  }
  return emitted;
}

CompileSettings compile_settings(const VariantSource& from) {
  return {.arch = nvrtc_arch(from.target.arch, from.options.ptx),
          .host = {.count = from.options.count, .optimize = from.options.optimize_host},
          .also_nvrtc = from.options.also_nvrtc,
          .ptx = from.options.ptx,
          .cache = from.options.cache};
}

EmittedVariant plan_and_emit(VariantSource& from, const VariantRequest& request) {
  EmittedVariant emitted{.program = plan_for(from, request), .kernels = {}};
  const bool is_choice_made = is_provisional(from.options, request) ||
                              (from.options.tune == Tune::off && from.options.force_candidate < 0);
  for (const Kernel& kernel : emitted.program.kernels) {
    const TraceSpan span("emit", [&] { return fmt::format("emit {}", kernel.name); });
    emitted.kernels.push_back(
        emit_candidates(emitted.program, kernel, is_choice_made ? 1 : SIZE_MAX));
    for (const Source& source : emitted.kernels.back().sources)
      from.dump.write("source", "cu", source.text);
  }
  return emitted;
}

std::shared_ptr<const Variant> make_variant(VariantSource& from, const VariantRequest& request) {
  auto variant = std::make_shared<Variant>();
  auto start = std::chrono::steady_clock::now();
  variant->alignment = request.alignment;
  variant->unwritten_outputs = request.unwritten_outputs;
  variant->is_provisional = is_provisional(from.options, request);
  variant->is_specialized = request.is_specialized;
  Options options = from.options;
  if (variant->is_provisional) options.tune = Tune::off;
  EmittedVariant planned = plan_and_emit(from, request);
  const std::vector<EmittedKernel>& emitted = planned.kernels;
  variant->program = std::move(planned.program);
  const Program& program = variant->program;
  const double plan_ms = milliseconds_since(start);

  request.cancellation.check();
  start = std::chrono::steady_clock::now();
  DiskCounters disk_before;
  if (is_logged(from.options, LogLevel::passes))
    disk_before = disk_cache(from.options.cache).counters();
  const std::vector<CompileResult> compiled =
      compile_all(from, emitted, request.cancellation.stop_token);
  if (is_logged(from.options, LogLevel::passes))
    log_cache_use(from, program, compiled, disk_before);
  const double compile_ms = milliseconds_since(start);
  dump_compiled(from.dump, compiled);

  start = std::chrono::steady_clock::now();
  std::vector<TuneResult> tuned;
  for (std::size_t i = 0; i < emitted.size(); ++i) {
    if (emitted[i].is_call) {
      tuned.emplace_back().summary = kCallTuning;
      variant->kernels.push_back(
          {.source = emitted[i].sources[0],
           .schedule = emitted[i].schedules[0],
           .unit = nullptr,
           .opaque = std::make_shared<OpaqueBinding>(
               describe_call(program, program.kernels[i]), from.functions, from.device,
               std::make_shared<DiskAlgorithms>(from.options))});
      variant->kernels.back().opaque->check(request.symbols);
      continue;
    }
    request.cancellation.check();
    const TuneRequest tuning{.program = program,
                             .kernel = program.kernels[i],
                             .sources = emitted[i].sources,
                             .schedules = emitted[i].schedules,
                             .unit = *compiled[i].unit,
                             .symbols = request.symbols,
                             .alignment = request.alignment,
                             .is_in_background = request.is_in_background,
                             .cancellation = request.cancellation};
    tuned.push_back(choose_candidate(from.device, from.target, tuning, options));
    if (variant->is_provisional)
      tuned.back().summary = "the default, while candidates are measured in the background";
    const auto chosen = static_cast<std::size_t>(tuned[i].chosen);
    const Source& source = emitted[i].sources[chosen];
    const CompiledFunction& function = compiled[i].unit->functions[chosen];
    variant->kernels.push_back(
        {.source = source,
         .schedule = emitted[i].schedules[chosen],
         .function = function.handle,
         .grid_limit = cooperative_grid_limit(from.device, source, function.handle),
         .starts_early = function.starts_early,
         .unit = compiled[i].unit});
  }
  variant->report = report_of(*variant, request, compiled, tuned);
  variant->report.plan_ms = plan_ms;
  variant->report.compile_ms = compile_ms;
  variant->report.tune_ms = milliseconds_since(start);
  from.dump.write("launch", "txt", launch_text(variant->report));
  log_line(from.options, LogLevel::notes, [&] {
    return fmt::format(
        "{}: {} kernels for [{}] ({}): planned in {:.1f} ms, compiled in {:.1f} ms, tuned "
        "in {:.1f} ms",
        from.graph.name(), variant->kernels.size(), fmt::join(variant->report.sizes, ", "),
        request.reason, plan_ms, compile_ms, variant->report.tune_ms);
  });
  if (is_logged(from.options, LogLevel::schedules))
    log_schedules(from.options, program, variant->report);
  return variant;
}

}  // namespace sinter
