#include "runtime/tuning/tuning_facts.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace sinter {

namespace {

/// The largest factor between the numbers of two sizes that are near.
constexpr double kFarthest = 4;

bool is_enough(const TuningFact& fact, const TuningQuery& query) {
  if (fact.was_disturbed && !query.is_in_background) return false;
  return query.effort != Tune::wide || fact.effort == Tune::wide;
}

/// True for a valid fact of the default. Every measurement times the default, with its own median
/// as the reference. So a fact that says that the default was dropped is wrong.
bool is_of_default(const TuningFact& fact) {
  return fact.median_us > 0 && fact.median_us == fact.reference_us;
}

/// True if `fact` should replace `old`.
bool is_better(const TuningFact& fact, const TuningFact& old) {
  if (fact.effort != old.effort) return fact.effort == Tune::wide;
  // With another grid, the old times do not apply.
  if (fact.blocks != old.blocks) return true;
  if (fact.was_disturbed != old.was_disturbed) return old.was_disturbed;
  return old.median_us == 0 && is_of_default(fact);
}

/// The fact of candidate `i`; null if there is none that the query accepts.
const TuningFact* fact_of(const TuningQuery& query, const TunedSize& known, std::size_t i) {
  const auto found = known.facts.find(query.candidates[i]);
  if (found == known.facts.end() || !is_enough(found->second, query)) return nullptr;
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
    for (const auto& [candidate, fact] : size.facts) {
      const auto [entry, is_new] = known->facts.emplace(candidate, fact);
      if (!is_new && is_better(fact, entry->second)) entry->second = fact;
    }
  }
  if (into.sizes.size() > kMaxTunedSizes)
    into.sizes.erase(into.sizes.begin(),
                     into.sizes.end() - static_cast<std::ptrdiff_t>(kMaxTunedSizes));
}

std::vector<bool> candidates_to_measure(const TuningQuery& query, const TunedSize* known) {
  const std::size_t count = query.candidates.size();
  const auto is_known = [&](std::size_t i) {
    const TuningFact* const fact = known ? fact_of(query, *known, i) : nullptr;
    return fact && fact->blocks == query.blocks[i];
  };
  // Facts of the other candidates are relative to the default, so they are useless without it.
  const bool from_scratch = !is_known(0) || fact_of(query, *known, 0)->median_us == 0;
  std::vector<bool> result(count, false);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = !is_dropped(query, i) && (from_scratch || !is_known(i));
  if (std::ranges::count(result, true) > 0) result[0] = true;
  return result;
}

TuneResult choose_from_facts(const TuningQuery& query, const TunedSize& known) {
  TuneResult result{.candidates = query.reports};
  const auto standard = known.facts.find(query.candidates[0]);
  const double standard_us = standard == known.facts.end() ? 0 : standard->second.median_us;
  CountRange rounds;
  CountRange launches;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const TuningFact* const fact = fact_of(query, known, i);
    CandidateReport& candidate = result.candidates[i];
    if (!fact || is_dropped(query, i)) continue;
    candidate.problem = fact->problem;
    candidate.differs = fact->differs;
    if (fact->median_us == 0) continue;
    // Scales the time to the known time of the default.
    const double scale = standard_us / fact->reference_us;
    candidate.median_us = scale * fact->median_us;
    candidate.lower_quartile_us = scale * fact->lower_quartile_us;
    candidate.upper_quartile_us = scale * fact->upper_quartile_us;
    candidate.gigabytes_per_second = fact->gigabytes_per_second / scale;
    rounds.add(fact->rounds);
    launches.add(fact->launches);
  }
  result.chosen = choose(result.candidates);
  result.candidates[static_cast<std::size_t>(result.chosen)].chosen = true;
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
      has_all = is_dropped(query, i) || fact_of(query, size, i);
    const TuningFact* const standard = fact_of(query, size, 0);
    if (!has_all || !standard || standard->median_us == 0) continue;
    best = &size;
    least = *far;
  }
  return best;
}

TunedSize facts_of(const TuningQuery& query, const TuneResult& result,
                   const std::vector<bool>& measured, bool was_disturbed) {
  TunedSize size{.numbers = query.numbers, .sizes = cut(query.sizes), .facts = {}};
  if (result.candidates[0].median_us == 0) return size;  // nothing was measured
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const CandidateReport& candidate = result.candidates[i];
    const bool is_logged = candidate.median_us > 0 || !candidate.problem.empty();
    if (!measured[i] || !is_logged) continue;
    size.facts[query.candidates[i]] = {.median_us = candidate.median_us,
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
