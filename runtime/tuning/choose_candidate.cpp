#include "runtime/tuning/choose_candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "ir/shape/extent.h"
#include "runtime/cache/compiler_identity.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/compile/nvrtc_units.h"
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

// Raise it when the same code is measured differently.
constexpr int kTuningVersion = 2;

std::string build_identity(const DeviceState& device, const Program& program,
                           const Options& options) {
  DiskCache& disk = disk_cache(options.cache);
  return device.is_host ? host_build_identity(
                              disk, {.count = options.count, .optimize = options.optimize_host})
                        : nvrtc_build_identity(disk, nvrtc_arch(program.arch, options.ptx));
}

/// A hash of everything that decides a candidate, except sizes.
std::string candidate_name(const Source& source) {
  return hash_of(fmt::format("{} {} {} {}\n{}", source.threads, source.shared_bytes, source.cluster,
                             source.is_cooperative,
                             source.code_key.empty() ? source.text : source.code_key))
      .hex();
}

std::vector<std::int64_t> numbers_of(const TuneRequest& request) {
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

/// Logs dropped candidates. One whose result differs is a bug, so it is logged at every level.
void report_problems(const Options& options, const Kernel& kernel, const TuneResult& result) {
  for (const CandidateReport& candidate : result.candidates) {
    if (candidate.problem.empty()) continue;
    const std::string line = fmt::format("tune: kernel {} with {}: {}", kernel.name,
                                         candidate.schedule, candidate.problem);
    if (candidate.differs)
      write_log_line(options, line);
    else
      log_line(options, LogLevel::notes, [&] { return line; });
  }
}

/// Compares the default with the oracle. An error of the check is returned as its reason.
DefaultVerification verification_of(DeviceState& device, const TuneRequest& request) {
  try {
    return verify_default_schedule(device, request);
  } catch (const UserError& error) {  // invalid sizes
    return {.reason = error.what()};
  } catch (const InternalError& error) {
    return {.reason = error.what()};
  }
}

/// Verifies the default, with which all other candidates are compared. A wrong result is logged at
/// every level.
void verify_and_log(DeviceState& device, const TuneRequest& request, const Options& options) {
  const DefaultVerification verification = verification_of(device, request);
  const std::string& name = request.kernel.name;
  if (!verification.passes)
    write_log_line(options, fmt::format("tune: kernel {}: its result is wrong {}: a bug in sinter, "
                                        "please report it",
                                        name, verification.summary));
  else
    log_line(options, LogLevel::schedules, [&] {
      return verification.reason.empty()
                 ? fmt::format("tune: kernel {}: {}", name, verification.summary)
                 : fmt::format("tune: kernel {} is not verified: {}", name, verification.reason);
    });
}

TuneResult forced(DeviceState& device, const TuneRequest& request, int candidate) {
  const auto asked = std::min(static_cast<std::size_t>(candidate), request.sources.size() - 1);
  TuneResult result = unmeasured(request, fmt::format("candidate {} was forced", asked));
  // The default fits on every device that it is planned for.
  if (asked == 0) return result;
  std::string& problem = result.candidates[asked].problem;
  problem = cluster_problem(device, request.sources[asked], request.unit.functions[asked].handle);
  if (problem.empty())
    choose(result, static_cast<int>(asked));
  else
    result.summary += ": " + problem;
  return result;
}

/// The number of launches and copies of the program so far, without those of tuning.
std::int64_t counted_work() {
  return counted(Count::kernel_launches) + counted(Count::graph_launches) + counted(Count::copies);
}

/// Measures the candidates in `which` and returns their timings. Nothing if the kernel cannot be
/// measured now; then `reason` is the result.
std::optional<TunedSize> measure(DeviceState& device, const TuneRequest& request,
                                 const TuningQuery& query, const Options& options,
                                 std::vector<bool> which, TuneResult& reason) {
  const TraceSpan span("tune", [&] { return fmt::format("tune {}", request.kernel.name); });
  count(Count::tunings);
  TuneRequest part = request;
  part.measured = std::move(which);
  const std::int64_t before = counted_work();
  reason = measure_candidates(device, part, query.effort);
  const bool was_disturbed = request.is_in_background && counted_work() != before;
  verify_and_log(device, request, options);
  TunedSize measured = timings_of(query, reason, part.measured, was_disturbed);
  if (!measured.timings.empty()) return measured;
  for (std::size_t i = 0; i < reason.candidates.size(); ++i)
    if (reason.candidates[i].problem.empty())
      reason.candidates[i].problem = query.reports[i].problem;
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

TuningQuery query_of(DeviceState& device, const Target& target, const TuneRequest& request,
                     const Options& options) {
  TuningQuery query{.numbers = numbers_of(request),
                    .sizes = symbols_text(request.program, request.symbols, "other sizes"),
                    .effort = options.tune,
                    .is_in_background = request.is_in_background,
                    .reports = unmeasured(request, "").candidates};
  const std::optional<StaticEstimate> standard = static_estimate(target, request, 0);
  for (std::size_t i = 0; i < request.sources.size(); ++i) {
    const Source& source = request.sources[i];
    query.candidates.push_back(candidate_name(source));
    query.blocks.push_back(evaluate(source.grid, request.symbols));
    if (i == 0) continue;
    std::string& problem = query.reports[i].problem;
    if (const auto estimate = static_estimate(target, request, i); estimate && standard)
      problem = skip_reason(*estimate, *standard, target);
    // Even if a tuning file has times for it, a candidate that does not fit is never launched.
    if (problem.empty())
      problem = cluster_problem(device, source, request.unit.functions[i].handle);
  }
  query.kernel =
      name_of(fmt::format("tuning, way {}\n{}\n{}\nalignment {}\n{}", kTuningVersion,
                          machine_of(device), build_identity(device, request.program, options),
                          request.alignment, query.candidates[0]))
          .hex();
  return query;
}

TuneResult choose_candidate(DeviceState& device, const Target& target, const TuneRequest& request,
                            const Options& options) {
  if (options.force_candidate >= 0) return forced(device, request, options.force_candidate);
  if (options.tune == Tune::off) return unmeasured(request, "off: the heuristic's choice");
  if (request.sources.size() < 2) return unmeasured(request, "one candidate");
  TuningStore& store = device.tuning_store.get();
  DiskCache& disk = disk_cache(options.cache);
  const TuningQuery query = query_of(device, target, request, options);
  const bool is_first = !store.was_queried(query.kernel);
  const KernelTunings known = store.find(query.kernel, disk);

  TuneResult result;
  const TunedSize* const exact = known.at(query.numbers);
  const TunedSize* const near =
      exact || options.tune == Tune::wide ? nullptr : nearest(query, known);
  std::vector<bool> missing = candidates_to_measure(query, exact);
  bool is_measured = false;
  if (near) {
    result = choose_by_timings(query, *near);
    result.summary = fmt::format("tuned for {}: {}", near->sizes, result.summary);
  } else if (std::ranges::count(missing, true) == 0) {
    result = choose_by_timings(query, *exact);
  } else if (const auto measured =
                 measure(device, request, query, options, std::move(missing), result)) {
    is_measured = true;
    result = choose_by_timings(query, store.put(query.kernel, *measured, disk));
  }
  if (is_first || is_measured) report_problems(options, request.kernel, result);
  return result;
}

}  // namespace sinter
