#include "runtime/tuning/candidate_timings.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace sinter {

namespace {

/// The largest factor between the numbers of two sizes that are near.
constexpr double kFarthest = 4;

bool is_enough(const CandidateTiming& timing, const TuningQuery& query) {
  if (timing.was_disturbed && !query.is_in_background) return false;
  return query.effort != Tune::wide || timing.effort == Tune::wide;
}

/// True for a valid timing of the default. Every measurement times the default, with its own median
/// as the reference. So a timing that says that the default was dropped is wrong.
bool is_of_default(const CandidateTiming& timing) {
  return timing.median_us > 0 && timing.median_us == timing.reference_us;
}

/// True if `timing` should replace `old`.
bool is_better(const CandidateTiming& timing, const CandidateTiming& old) {
  // With another grid, the old times do not apply.
  if (timing.blocks != old.blocks) return true;
  if (timing.effort != old.effort) return timing.effort == Tune::wide;
  if (timing.was_disturbed != old.was_disturbed) return old.was_disturbed;
  return old.median_us == 0 && is_of_default(timing);
}

/// The timing of candidate `i`; null if there is none that the query accepts.
const CandidateTiming* timing_of(const TuningQuery& query, const TunedSize& known, std::size_t i) {
  const auto found = known.timings.find(query.candidates[i]);
  if (found == known.timings.end() || !is_enough(found->second, query)) return nullptr;
  return &found->second;
}

bool is_dropped(const TuningQuery& query, std::size_t i) {
  return !query.reports[i].problem.empty();
}

/// The distance of two sizes; nothing if they cannot be compared or are too far apart.
std::optional<double> distance(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  if (a.size() != b.size()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (a[i] <= 0 || b[i] <= 0) return std::nullopt;
    const double ratio = static_cast<double>(a[i]) / static_cast<double>(b[i]);
    const double factor = std::max(ratio, 1 / ratio);
    if (factor > kFarthest) return std::nullopt;
    sum += std::log(factor);
  }
  return sum;
}

std::string cut(const std::string& text) { return text.substr(0, kMaxTuningTextBytes); }

}  // namespace

const TunedSize* KernelTunings::at(std::span<const std::int64_t> numbers) const {
  const auto found = std::ranges::find_if(
      sizes, [&](const TunedSize& size) { return std::ranges::equal(size.numbers, numbers); });
  return found == sizes.end() ? nullptr : &*found;
}

void merge(KernelTunings& into, const KernelTunings& from) {
  for (const TunedSize& size : from.sizes) {
    const auto known = std::ranges::find(into.sizes, size.numbers, &TunedSize::numbers);
    if (known == into.sizes.end()) {
      into.sizes.push_back(size);
      continue;
    }
    for (const auto& [candidate, timing] : size.timings) {
      const auto [entry, is_new] = known->timings.emplace(candidate, timing);
      if (!is_new && is_better(timing, entry->second)) entry->second = timing;
    }
  }
  if (into.sizes.size() > kMaxTunedSizes)
    into.sizes.erase(into.sizes.begin(),
                     into.sizes.end() - static_cast<std::ptrdiff_t>(kMaxTunedSizes));
}

std::vector<bool> candidates_to_measure(const TuningQuery& query, const TunedSize* known) {
  const std::size_t count = query.candidates.size();
  const auto is_known = [&](std::size_t i) {
    const CandidateTiming* const timing = known ? timing_of(query, *known, i) : nullptr;
    return timing && timing->blocks == query.blocks[i];
  };
  // Timings of the other candidates are relative to the default, so they are useless without it.
  const bool from_scratch = !is_known(0) || timing_of(query, *known, 0)->median_us == 0;
  std::vector<bool> result(count, false);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = !is_dropped(query, i) && (from_scratch || !is_known(i));
  if (std::ranges::count(result, true) > 0) result[0] = true;
  return result;
}

TuneResult choose_by_timings(const TuningQuery& query, const TunedSize& known) {
  TuneResult result{.candidates = query.reports};
  const auto standard = known.timings.find(query.candidates[0]);
  const double standard_us = standard == known.timings.end() ? 0 : standard->second.median_us;
  CountRange rounds;
  CountRange launches;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const CandidateTiming* const timing = timing_of(query, known, i);
    CandidateReport& candidate = result.candidates[i];
    if (!timing || is_dropped(query, i)) continue;
    candidate.problem = timing->problem;
    candidate.differs = timing->differs;
    if (timing->median_us == 0) continue;
    // Scales the time to the known time of the default.
    const double scale = standard_us / timing->reference_us;
    candidate.median_us = scale * timing->median_us;
    candidate.lower_quartile_us = scale * timing->lower_quartile_us;
    candidate.upper_quartile_us = scale * timing->upper_quartile_us;
    candidate.gigabytes_per_second = timing->gigabytes_per_second / scale;
    rounds.add(timing->rounds);
    launches.add(timing->launches);
  }
  choose(result, clear_winner(result.candidates));
  result.summary = tuning_summary(result.candidates.size(), rounds, launches);
  return result;
}

const TunedSize* nearest(const TuningQuery& query, const KernelTunings& known) {
  const TunedSize* best = nullptr;
  double least = 0;
  for (const TunedSize& size : known.sizes) {
    const std::optional<double> far = distance(query.numbers, size.numbers);
    if (!far || (best && *far >= least)) continue;
    bool has_all = true;
    for (std::size_t i = 0; i < query.candidates.size() && has_all; ++i)
      has_all = is_dropped(query, i) || timing_of(query, size, i);
    const CandidateTiming* const standard = timing_of(query, size, 0);
    if (!has_all || !standard || standard->median_us == 0) continue;
    best = &size;
    least = *far;
  }
  return best;
}

TunedSize timings_of(const TuningQuery& query, const TuneResult& result,
                     const std::vector<bool>& measured, bool was_disturbed) {
  TunedSize size{.numbers = query.numbers, .sizes = cut(query.sizes), .timings = {}};
  if (result.candidates[0].median_us == 0) return size;  // nothing was measured
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const CandidateReport& candidate = result.candidates[i];
    const bool is_logged = candidate.median_us > 0 || !candidate.problem.empty();
    if (!measured[i] || !is_logged) continue;
    size.timings[query.candidates[i]] = {.median_us = candidate.median_us,
                                         .lower_quartile_us = candidate.lower_quartile_us,
                                         .upper_quartile_us = candidate.upper_quartile_us,
                                         .gigabytes_per_second = candidate.gigabytes_per_second,
                                         .reference_us = result.candidates[0].median_us,
                                         .blocks = query.blocks[i],
                                         .rounds = result.rounds,
                                         .launches = result.launches,
                                         .effort = query.effort,
                                         .schedule = cut(candidate.schedule),
                                         .problem = cut(candidate.problem),
                                         .differs = candidate.differs,
                                         .was_disturbed = was_disturbed};
  }
  return size;
}

}  // namespace sinter
