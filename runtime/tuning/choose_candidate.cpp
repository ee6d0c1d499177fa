#include "runtime/tuning/choose_candidate.h"

#include <fmt/format.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "ir/shape/extent.h"
#include "runtime/cache/compiler_identity.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/device/launch_grid.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/debug_log.h"
#include "runtime/logging/trace.h"
#include "runtime/tuning/static_filter.h"
#include "runtime/tuning/tuning_store.h"
#include "runtime/tuning/verify_default_schedule.h"
#include "sinter/error.h"

namespace sinter {

namespace {

// To be counted up when the same code is measured in another way.
constexpr int kTuningWay = 1;

/// What makes machine code of the kernel's text.
std::string compiler_of(const DeviceState& device, const Program& program, const Options& options) {
  DiskCache& disk = disk_cache(options.cache);
  if (device.is_host)
    return fmt::format("prelude {}\n{}\ncount {}, optimize {}", prelude_hash(Prelude::host),
                       host_compiler(disk).version(), options.count, options.optimize_host);
  return fmt::format("prelude {}\n{}\n{}", prelude_hash(Prelude::cuda), nvrtc_identity(disk),
                     program.arch);
}

/// Everything that decides a candidate, but for sizes.
std::string candidate_name(const Source& source) {
  const std::string text =
      fmt::format("{} {} {} {}\n{}", source.threads, source.shared_bytes, source.cluster,
                  source.is_cooperative, source.code.empty() ? source.text : source.code);
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::vector<std::int64_t> numbers_asked(const TuneRequest& request) {
  std::vector<std::int64_t> numbers;
  for (const std::vector<Argument>* list :
       {&request.sources[0].arguments, &request.sources[0].table})
    for (const Argument& argument : *list) {
      if (argument.kind == Argument::Kind::extent)
        numbers.push_back(evaluate(argument.extent, request.symbols));
      if (argument.kind == Argument::Kind::buffer) {
        const Buffer& buffer = request.program.buffers[static_cast<std::size_t>(argument.index)];
        numbers.push_back(elements_of(buffer, request.symbols));
      }
    }
  return numbers;
}

std::string sizes_text(const TuneRequest& request) {
  const std::string text = symbols_text(request.program, request.symbols);
  return text.empty() ? "other sizes" : text;
}

/// A candidate that computes something else is a bug that must be seen, log or no log.
void report_problems(const Options& options, const Kernel& kernel, const TuneResult& result) {
  for (const CandidateReport& candidate : result.candidates) {
    if (candidate.problem.empty()) continue;
    const std::string line = fmt::format("tune: kernel {} with {}: {}", kernel.name,
                                         candidate.schedule, candidate.problem);
    if (candidate.differs)
      write_log_line(options, line);
    else
      log_line(options, LogLevel::logged, [&] { return line; });
  }
}

/// What the oracle says of the default; that it could not be asked is no reason to fail.
DefaultVerification judgement_of(DeviceState& device, const TuneRequest& request) {
  try {
    return verify_default_schedule(device, request);
  } catch (const UserError& error) {  // sizes without a meaning
    return {.reason = error.what()};
  } catch (const InternalError& error) {
    return {.reason = error.what()};
  }
}

/// The default is what all others are compared with. That it computes something else than its graph
/// says must be seen as well.
void judge(DeviceState& device, const TuneRequest& request, const Options& options) {
  const DefaultVerification judgement = judgement_of(device, request);
  const std::string& name = request.kernel.name;
  if (!judgement.passes)
    write_log_line(options, fmt::format("tune: kernel {}: its result is wrong {}: a bug in sinter, "
                                        "please report it",
                                        name, judgement.says));
  else
    log_line(options, LogLevel::schedules, [&] {
      return judgement.reason.empty()
                 ? fmt::format("tune: kernel {}: {}", name, judgement.says)
                 : fmt::format("tune: kernel {} is not judged: {}", name, judgement.reason);
    });
}

TuneResult forced(DeviceState& device, const TuneRequest& request, int candidate) {
  TuneResult result = tune(device, request, Tune::off);
  const auto asked = std::min(static_cast<std::size_t>(candidate), request.sources.size() - 1);
  result.summary = fmt::format("candidate {} was asked for", asked);
  // The default runs on every device that it is planned for.
  if (asked == 0) return result;
  result.candidates[asked].problem =
      why_no_cluster(device, request.sources[asked], request.unit.functions[asked].handle);
  if (!result.candidates[asked].problem.empty()) {
    result.summary += ": " + result.candidates[asked].problem;
    return result;
  }
  result.candidates[0].chosen = false;
  result.chosen = static_cast<int>(asked);
  result.candidates[asked].chosen = true;
  return result;
}

/// What the program has put on devices so far; tuning itself is not counted.
std::int64_t counted_work() {
  return counted(Count::kernel_launches) + counted(Count::graph_launches) + counted(Count::copies);
}

/// Tunes what is not known. Nothing where the kernel cannot be measured now; then `reason` is the
/// result.
std::optional<TunedSize> measure(DeviceState& device, const TuneRequest& request,
                                 const TuningQuestion& question, const Options& options,
                                 std::vector<bool> which, TuneResult& reason) {
  const TraceSpan span("tune", [&] { return fmt::format("tune {}", request.kernel.name); });
  count(Count::tunings);
  TuneRequest part = request;
  part.measured = which;
  const std::int64_t before = counted_work();
  reason = tune(device, part, question.effort);
  const bool was_disturbed = request.is_in_background && counted_work() != before;
  judge(device, request, options);
  TunedSize facts = facts_of(question, reason, which, was_disturbed);
  if (!facts.facts.empty()) return facts;
  for (std::size_t i = 0; i < reason.candidates.size(); ++i)
    if (reason.candidates[i].problem.empty())
      reason.candidates[i].problem = question.reports[i].problem;
  return std::nullopt;
}

}  // namespace

std::string machine_of(const DeviceState& device) {
  int version = 0;
  check(device.driver, device.driver.cuDriverGetVersion(&version), "cuDriverGetVersion",
        device.name);
  const auto multiprocessors = device.is_host
                                   ? static_cast<int>(std::thread::hardware_concurrency())
                                   : device.target.sm_count;
  return fmt::format("{}, {} {}, driver {}.{}", device.name, multiprocessors,
                     device.is_host ? "threads" : "SMs", version / 1000, version % 1000 / 10);
}

TuningQuestion question_of(DeviceState& device, const Target& target, const TuneRequest& request,
                           const Options& options) {
  TuningQuestion question{.numbers = numbers_asked(request),
                          .sizes = sizes_text(request),
                          .effort = options.tune,
                          .is_in_background = request.is_in_background,
                          .reports = tune(device, request, Tune::off).candidates};
  question.reports[0].chosen = false;
  const std::optional<StaticFigures> standard = static_figures(target, request, 0);
  for (std::size_t i = 0; i < request.sources.size(); ++i) {
    const Source& source = request.sources[i];
    question.candidates.push_back(candidate_name(source));
    question.blocks.push_back(evaluate(source.grid, request.symbols));
    if (i == 0) continue;
    std::string& problem = question.reports[i].problem;
    if (const auto figures = static_figures(target, request, i); figures && standard)
      problem = why_hopeless(*figures, *standard, target);
    // Whatever a file says of it, what the device has no room for is not launched.
    if (problem.empty()) problem = why_no_cluster(device, source, request.unit.functions[i].handle);
  }
  question.kernel =
      name_of(fmt::format("tuning, way {}\n{}\n{}\nalignment {}\n{}", kTuningWay,
                          machine_of(device), compiler_of(device, request.program, options),
                          request.alignment, question.candidates[0]))
          .hex();
  return question;
}

TuneResult choose_candidate(DeviceState& device, const Target& target, const TuneRequest& request,
                            const Options& options) {
  if (options.force_candidate >= 0) return forced(device, request, options.force_candidate);
  if (options.tune == Tune::off || request.sources.size() < 2)
    return tune(device, request, options.tune);
  TuningStore& store = device.tuning_store.get();
  DiskCache& disk = disk_cache(options.cache);
  const TuningQuestion question = question_of(device, target, request, options);
  const bool is_first = !store.has_met(question.kernel);
  KernelTunings known = store.find(question.kernel, disk);

  TuneResult result;
  const TunedSize* const exact = known.at(question.numbers);
  const TunedSize* const near =
      exact || options.tune == Tune::wide ? nullptr : nearest(question, known);
  std::vector<bool> missing = unknown(question, exact);
  bool is_measured = false;
  if (near) {
    result = decide(question, *near);
    result.summary = fmt::format("tuned for {}: {}", near->sizes, result.summary);
  } else if (std::ranges::count(missing, true) == 0) {
    result = decide(question, *exact);
  } else if (const auto facts =
                 measure(device, request, question, options, std::move(missing), result)) {
    is_measured = true;
    store.put(question.kernel, *facts, disk);
    known = store.find(question.kernel, disk);
    result = decide(question, *known.at(question.numbers));
  }
  if (is_first || is_measured) report_problems(options, request.kernel, result);
  return result;
}

}  // namespace sinter
