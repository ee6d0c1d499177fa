#include "runtime/tuning/measure_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "ir/shape/extent.h"
#include "runtime/device/launch_grid.h"
#include "runtime/support/quartiles.h"
#include "runtime/tuning/kept_results.h"
#include "runtime/tuning/kernel_timer.h"
#include "runtime/tuning/scratch_buffers.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr double kLeastGain = 0.02;  // smaller gains may be noise

// Times of the host device say nothing about GPUs. Tuning there only tests the machinery, so it may
// take only a fraction of a second.
constexpr std::int64_t kHostLargestSet = 8 << 20;  // bytes
constexpr double kHostSeconds = 0.05;              // for all timed launches of a kernel
constexpr double kHostWideSeconds = 0.5;
constexpr int kHostRounds = 5;
constexpr int kHostWideRounds = 25;
constexpr int kHostLaunches = 2;  // per measurement

/// The amount of measuring.
struct Effort {
  int rounds = 7;
  int launches = 32;  ///< per measurement
  int sets = 1;
  double seconds = 0;  ///< no round begins after this time; the host device only
};

Effort effort_for(const DeviceState& device, std::int64_t set_bytes, Tune tune) {
  const bool is_wide = tune == Tune::wide;
  if (device.is_host)
    return {.rounds = is_wide ? kHostWideRounds : kHostRounds,
            .launches = kHostLaunches,
            .sets = 2,
            .seconds = is_wide ? kHostWideSeconds : kHostSeconds};
  const std::int64_t cold_bytes = 3 * device.target.l2_bytes;
  const std::int64_t launches = (cold_bytes + set_bytes - 1) / std::max<std::int64_t>(set_bytes, 1);
  Effort effort{.rounds = is_wide ? 25 : 7,
                .launches = static_cast<int>(std::clamp<std::int64_t>(launches, 4, 32))};
  // Large sets evict each other from L2, so few sets are enough.
  effort.sets = static_cast<int>(std::clamp<std::int64_t>(launches, 1, effort.launches));
  return effort;
}

std::string no_tuning_reason(const DeviceState& device, const TuneRequest& request,
                             std::int64_t set_bytes, std::int64_t scratch_bytes) {
  if (evaluate(request.sources[0].grid, request.symbols) == 0) return "nothing to launch";
  if (device.is_host && set_bytes > kHostLargestSet)
    return fmt::format("not timed: {} MiB are too much for the host device", set_bytes >> 20);
  if (device.is_host) return {};
  std::size_t free = 0;
  std::size_t total = 0;
  check(device.driver, device.driver.cuMemGetInfo(&free, &total), "cuMemGetInfo",
        [&] { return "before tuning of kernel " + request.sources[0].entry; });
  if (static_cast<std::size_t>(scratch_bytes) > free / 2)
    return fmt::format("not timed: its scratch data of {} MiB is more than half of the {} MiB free",
                       scratch_bytes >> 20, free >> 20);
  return {};
}

void summarise_times(std::vector<double> microseconds, std::int64_t bytes,
                     CandidateReport& candidate) {
  const Quartiles quartiles = quartiles_of(std::move(microseconds));
  candidate.lower_quartile_us = quartiles.lower;
  candidate.median_us = quartiles.median;
  candidate.upper_quartile_us = quartiles.upper;
  if (candidate.median_us > 0)
    candidate.gigabytes_per_second = static_cast<double>(bytes) / candidate.median_us / 1e3;
}

class Tuner {
 public:
  Tuner(DeviceState& device, const TuneRequest& request, TuneResult& result)
      : device_(device), request_(request), result_(result) {}

  void run(Tune tune) {
    const std::int64_t set_bytes = ScratchBuffers::bytes_per_set(request_);
    const Effort effort = effort_for(device_, set_bytes, tune);
    // The sets, the results of the default, and the memory that flushes L2.
    const std::int64_t scratch_bytes = set_bytes * effort.sets +
                                       ScratchBuffers::bytes_of_results(request_) +
                                       2 * device_.target.l2_bytes;
    result_.summary = no_tuning_reason(device_, request_, set_bytes, scratch_bytes);
    if (!result_.summary.empty()) return;
    const Stream stream = Device(&device_).stream();
    ScratchBuffers buffers(device_, request_, effort.sets, stream.state()->handle);
    drop_unfitting();
    drop_differing(buffers, stream.state()->handle);
    time(buffers, effort, stream.state()->handle);
  }

 private:
  bool is_active(std::size_t i) const {
    const bool is_requested = i == 0 || request_.measured.empty() || request_.measured[i];
    return is_requested && result_.candidates[i].problem.empty();
  }

  /// Compares the bits of every candidate with those of the default, which runs first.
  void drop_differing(ScratchBuffers& buffers, CUstream stream) {
    std::unique_ptr<const KeptResults> expected;
    for (std::size_t i = 0; i < request_.sources.size(); ++i) {
      if (!is_active(i)) continue;
      request_.cancellation.check();
      buffers.restore();
      launch_once(device_, timed_kernel(device_, request_, i), buffers, stream);
      if (i == 0) {
        expected = std::make_unique<const KeptResults>(device_, buffers, stream);
      } else if (!expected->equal_current()) {
        result_.candidates[i].problem =
            "its result differs from the default's: a bug in sinter, please report it";
        result_.candidates[i].differs = true;
      }
    }
  }

  /// Drops candidates whose clusters do not fit on this device. The default's always fit.
  void drop_unfitting() {
    for (std::size_t i = 1; i < request_.sources.size(); ++i)
      if (is_active(i))
        result_.candidates[i].problem =
            cluster_problem(device_, request_.sources[i], request_.unit.functions[i].handle);
  }

  /// The launches of candidate `i` one after the other, and early if that makes a difference.
  std::vector<std::unique_ptr<RepeatedLaunches>> launches_of(std::size_t i,
                                                             const ScratchBuffers& buffers,
                                                             int launches) {
    std::vector<std::unique_ptr<RepeatedLaunches>> modes;
    const TimedKernel kernel = timed_kernel(device_, request_, i);
    modes.push_back(RepeatedLaunches::in_turn(device_, kernel, buffers, launches));
    if (!kernel.starts_early) return modes;
    if (auto made = RepeatedLaunches::early(device_, kernel, buffers, launches))
      modes.push_back(std::move(made));
    return modes;
  }

  void time(const ScratchBuffers& buffers, const Effort& effort, CUstream stream) {
    KernelTimer timer(device_, stream, effort.launches);
    // Per candidate: its launches in each mode that it is timed in.
    std::vector<std::vector<std::unique_ptr<RepeatedLaunches>>> repeated(request_.sources.size());
    for (std::size_t i = 0; i < repeated.size(); ++i)
      if (is_active(i)) repeated[i] = launches_of(i, buffers, effort.launches);
    std::vector<std::vector<double>> times(repeated.size());
    double spent = 0;
    int rounds = 0;
    // The first round warms up. Candidates take turns, so that clock drift affects all equally.
    for (int round = 0; round <= effort.rounds; ++round) {
      for (std::size_t i = 0; i < repeated.size(); ++i) {
        if (repeated[i].empty()) continue;
        double sum = 0;
        for (const std::unique_ptr<RepeatedLaunches>& launches : repeated[i]) {
          request_.cancellation.check();
          sum += timer.measure(*launches);
        }
        spent += sum * effort.launches / 1e6;
        if (round > 0) times[i].push_back(sum / static_cast<double>(repeated[i].size()));
      }
      rounds = round;
      if (device_.is_host && round > 0 && spent > effort.seconds) break;
    }
    const Traffic& traffic = request_.sources[0].traffic;
    const std::int64_t bytes = evaluate(traffic.bytes_read, request_.symbols) +
                               evaluate(traffic.bytes_written, request_.symbols);
    for (std::size_t i = 0; i < times.size(); ++i)
      summarise_times(std::move(times[i]), bytes, result_.candidates[i]);
    choose(result_, clear_winner(result_.candidates));
    result_.rounds = rounds;
    result_.launches = effort.launches;
    result_.summary =
        tuning_summary(repeated.size(), {rounds, rounds}, {effort.launches, effort.launches});
  }

  DeviceState& device_;
  const TuneRequest& request_;
  TuneResult& result_;
};

/// `1 round`, `7 to 10 rounds`
std::string range_text(CountRange range, std::string_view what) {
  const std::string_view plural = range.high == 1 ? "" : what.ends_with("ch") ? "es" : "s";
  return range.low == range.high
             ? fmt::format("{} {}{}", range.low, what, plural)
             : fmt::format("{} to {} {}{}", range.low, range.high, what, plural);
}

}  // namespace

std::string tuning_summary(std::size_t candidates, CountRange rounds, CountRange launches) {
  const auto count = static_cast<int>(candidates);
  std::string text = range_text({count, count}, "candidate");
  if (rounds.high > 0)
    text += fmt::format(", {} of {}", range_text(rounds, "round"), range_text(launches, "launch"));
  return text;
}

std::string symbols_text(const Program& program, std::span<const std::int64_t> symbols,
                         std::string_view if_none) {
  const std::vector<std::string> sizes = size_texts(*program.graph->data().extents, symbols);
  return sizes.empty() ? std::string(if_none) : fmt::format("{}", fmt::join(sizes, ", "));
}

int clear_winner(std::span<const CandidateReport> candidates) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i)
    if (candidates[i].problem.empty() && candidates[i].median_us > 0 &&
        candidates[i].median_us < candidates[best].median_us)
      best = i;
  const bool is_clear = candidates[best].median_us <= (1 - kLeastGain) * candidates[0].median_us &&
                        candidates[best].upper_quartile_us < candidates[0].lower_quartile_us;
  return is_clear ? static_cast<int>(best) : 0;
}

void choose(TuneResult& result, int candidate) {
  result.candidates[static_cast<std::size_t>(result.chosen)].chosen = false;
  result.chosen = candidate;
  result.candidates[static_cast<std::size_t>(candidate)].chosen = true;
}

TuneResult unmeasured(const TuneRequest& request, std::string summary) {
  TuneResult result{.summary = std::move(summary)};
  for (std::size_t i = 0; i < request.sources.size(); ++i)
    result.candidates.push_back({.schedule = to_string(request.schedules[i]),
                                 .registers = request.unit.functions[i].registers,
                                 .chosen = i == 0});
  return result;
}

TuneResult measure_candidates(DeviceState& device, const TuneRequest& request, Tune effort) {
  TuneResult result = unmeasured(request, "");
  const CurrentContext current(device);
  const CaptureModeGuard relaxed(device.driver);
  Tuner(device, request, result).run(effort);
  return result;
}

}  // namespace sinter
