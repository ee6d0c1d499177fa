#include "compiler/horizontal/section_schedules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include "compiler/body_building/kernel_body.h"
#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

namespace {

/// A horizontally fused kernel is compiled once per candidate, with all of its sections.
constexpr std::size_t kMaxSectionCandidates = 6;

/// What clusters a section may have if its kernel has some: of that size, or of any.
enum class Clusters { as_planned, of_any_size };

/// `schedule` of `kernel` with blocks of `threads`; none if they do not suit it.
std::optional<Schedule> with_threads(const Kernel& kernel, const Schedule& candidate, int threads,
                                     const Target& target, Clusters clusters) {
  // Where a row needs a cluster, only schedules that have one read it once.
  const bool has_cluster = kernel.schedule.blocks_per_row() > 1;
  if (has_cluster != (candidate.blocks_per_row() > 1)) return std::nullopt;
  // Columns can do without; other sections, whose blocks would not divide by it, need not care.
  if (candidate.combines_columns) return std::nullopt;
  // Kernels of a list are of several sizes.
  if (candidate.is_flat && kernel.foreach_list >= 0) return std::nullopt;
  if (clusters == Clusters::as_planned &&
      candidate.blocks_per_row() != kernel.schedule.blocks_per_row())
    return std::nullopt;
  if (has_cluster && candidate.threads != threads) return std::nullopt;
  Schedule schedule = candidate;
  // Tiles of a scan wait for one another in launches of their own only.
  if (kernel.kind == KernelKind::scan) schedule.splits_rows = false;
  if (schedule.threads == threads) return schedule;
  switch (kernel.kind) {
    case KernelKind::pointwise:
      if (schedule.tile > 0) return std::nullopt;  // threads have equal shares of a tile
      schedule.threads = threads;
      return schedule;
    case KernelKind::scatter: schedule.threads = threads; return schedule;
    case KernelKind::row_reduce:
    case KernelKind::column_reduce:
    case KernelKind::scan: {
      if (schedule.tile > 0) return std::nullopt;  // the rows of a block fill sectors
      // More or fewer rows per block: what each thread does stays the same.
      const int rows = threads / schedule.threads_per_row;
      if (rows == 0 || rows * schedule.threads_per_row != threads) return std::nullopt;
      // What more rows keep might not fit in shared memory.
      if (schedule.in_shared && rows > schedule.rows_per_block) return std::nullopt;
      // Shared memory grows with the threads: 24 bytes per state, two halves.
      const std::int64_t shared = std::int64_t{threads} * schedule.vector * 48;
      if (shared > target.shared_per_block_opt_in) return std::nullopt;
      schedule.rows_per_block = rows;
      schedule.threads = threads;
      return schedule;
    }
    case KernelKind::row_column_reduce: {
      // Fewer pieces per block; more might not fit in shared memory.
      const int pieces = threads / schedule.threads_per_row;
      if (pieces == 0 || pieces * schedule.threads_per_row != threads ||
          pieces > schedule.rows_per_block)
        return std::nullopt;
      schedule.rows_per_block = pieces;
      schedule.threads = threads;
      return schedule;
    }
    case KernelKind::full_reduce:
    case KernelKind::horizontal:
    case KernelKind::opaque: break;
  }
  return std::nullopt;
}

/// Blocks that kernels are tried with beside those of the heaviest one.
constexpr std::array<int, 4> kSizes = {256, 128, 512, 64};

}  // namespace

bool suits(const Kernel& kernel, int threads, const Target& target) {
  return std::ranges::any_of(kernel.candidates, [&](const Schedule& candidate) {
    return with_threads(kernel, candidate, threads, target, Clusters::as_planned).has_value();
  });
}

unsigned suited_sizes(const Kernel& kernel, const Target& target) {
  unsigned result = 0;
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    if (suits(kernel, kSizes[i], target)) result |= 1U << i;
  return result;
}

namespace {

/// At most `most` candidates of `kernel` with blocks of `threads`, in its own order.
std::vector<Schedule> schedules_with(const Kernel& kernel, int threads, std::size_t most,
                                     const Target& target, Clusters clusters) {
  std::vector<Schedule> result;
  result.reserve(most);
  for (const bool as_they_are : {true, false})
    for (const Schedule& candidate : kernel.candidates) {
      if (result.size() == most) return result;
      if ((candidate.threads == threads) != as_they_are) continue;
      std::optional<Schedule> fit = with_threads(kernel, candidate, threads, target, clusters);
      if (fit && std::ranges::find(result, *fit) == result.end()) result.push_back(std::move(*fit));
    }
  return result;
}

/// The section whose schedule each section takes: of those of a list, the largest one.
std::vector<std::size_t> models_of(std::span<const Kernel> sections,
                                   std::span<const std::int64_t> elements) {
  std::map<int, std::size_t> largest;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto [found, is_new] = largest.try_emplace(sections[i].foreach_list, i);
    if (elements[i] > elements[found->second]) found->second = i;
  }
  std::vector<std::size_t> models(sections.size());
  for (std::size_t i = 0; i < sections.size(); ++i)
    models[i] = sections[i].foreach_list < 0 ? i : largest.at(sections[i].foreach_list);
  return models;
}

}  // namespace

std::vector<Schedule> section_candidates(std::span<const Kernel> sections,
                                         std::span<const std::int64_t> elements,
                                         const Target& target) {
  const auto place_of_heaviest = std::ranges::max_element(elements) - elements.begin();
  const Kernel& heaviest = sections[static_cast<std::size_t>(place_of_heaviest)];
  const std::vector<std::size_t> models = models_of(sections, elements);
  // A launch has clusters of one size.
  const auto with_clusters = std::ranges::count_if(
      sections, [](const Kernel& section) { return section.schedule.blocks_per_row() > 1; });
  const Clusters clusters = with_clusters > 1 ? Clusters::as_planned : Clusters::of_any_size;
  std::vector<Schedule> result;
  std::vector<int> sizes = {heaviest.schedule.threads};
  for (const int threads : kSizes)
    if (threads != sizes[0]) sizes.push_back(threads);
  for (const int threads : sizes) {
    const std::size_t choices = threads == sizes[0] ? 3 : 1;
    std::vector<std::vector<Schedule>> each(sections.size());
    bool has_all = true;
    for (std::size_t i = 0; i < sections.size() && has_all; ++i) {
      if (models[i] != i) continue;
      each[i] = schedules_with(sections[i], threads, choices, target, clusters);
      has_all = !each[i].empty();
    }
    if (!has_all) continue;
    for (std::size_t i = 0; i < choices && result.size() < kMaxSectionCandidates; ++i) {
      Schedule joined{.threads = threads};
      joined.sections.reserve(models.size());
      for (const std::size_t model : models) {
        joined.sections.push_back(each[model][std::min(i, each[model].size() - 1)]);
        joined.sections.back().blocks_per_sm = 0;  // sections share their registers' bound
      }
      if (std::ranges::find(result, joined) == result.end()) result.push_back(std::move(joined));
    }
  }
  return result;
}

namespace {

/// Of a large block, threads have 128 registers, too few for tiles of eight elements to a vector.
Schedule with_short_vectors(Schedule joined) {
  constexpr int kLargeBlock = 512;
  constexpr int kShort = 4;
  if (joined.threads < kLargeBlock) return joined;
  for (Schedule& section : joined.sections)
    if (section.tile > 0) section.vector = std::min(section.vector, kShort);
  return joined;
}

/// ResidentTiles of few channels fill small tiles only.
Schedule with_small_tiles(Schedule joined) {
  constexpr int kSmall = 32;
  for (Schedule& section : joined.sections)
    if (section.tile > kSmall && kSmall * kSmall % (section.vector * section.threads) == 0)
      section.tile = kSmall;
  return joined;
}

/// A block of a resident tile may end where a row does: sections whose vectors go past that have
/// others.
std::optional<Schedule> in_rows(Schedule joined, std::span<const Kernel> sections,
                                const Target& target) {
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (!joined.sections[i].is_flat) continue;
    std::optional<Schedule> other;
    for (const Schedule& candidate : sections[i].candidates)
      if (!other && !candidate.is_flat)
        other = with_threads(sections[i], candidate, joined.threads, target, Clusters::as_planned);
    if (!other) return std::nullopt;
    joined.sections[i] = *other;
    joined.sections[i].blocks_per_sm = 0;
  }
  return joined;
}

/// What sections keep in shared memory for themselves is in resident tiles, or is read again.
Schedule with_shared_memory_left(Schedule joined) {
  for (Schedule& section : joined.sections) {
    if (section.in_shared) section.in_shared = section.resident = false;
    if (section.rows_per_block > 1) section.tile = 0;
  }
  return joined;
}

/// What barriers take is assumed, bytes are counted: local tiles that save fewer of them than
/// others do are none.
void drop_local_tiles_of_less(std::vector<ResidentTileChoice>& choices) {
  double most = 0;
  for (const ResidentTileChoice& choice : choices)
    if (!choice.schedule.resident_tiles.is_local) most = std::max(most, choice.bytes_saved);
  std::erase_if(choices, [&](const ResidentTileChoice& choice) {
    return choice.schedule.resident_tiles.is_local && choice.bytes_saved < most;
  });
}

/// Other kernels need shared memory or neighbours of their own, or are many.
bool may_stand_beside_resident_tiles(const Kernel& section) {
  const bool is_of_resident_tiles = section.kind == KernelKind::pointwise ||
                                    section.kind == KernelKind::row_reduce ||
                                    section.kind == KernelKind::column_reduce;
  return is_of_resident_tiles && section.foreach_list < 0 && section.schedule.blocks_per_row() == 1;
}

/// Others have no resident tiles themselves.
bool is_of_known_size(const Kernel& section) {
  return section.reduced.is_number() && std::ranges::all_of(section.parallel, &Extent::is_number);
}

}  // namespace

ResidentTileCandidates with_resident_tiles(const Program& program, std::span<const Kernel> sections,
                                           std::span<const int> inner,
                                           std::vector<Schedule> schedules, const Target& target) {
  ResidentTileCandidates result{.seconds_saved = -1};
  if (!std::ranges::all_of(sections, may_stand_beside_resident_tiles) ||
      std::ranges::none_of(sections, is_of_known_size)) {
    result.schedules = std::move(schedules);
    return result;
  }
  std::vector<Body> bodies;
  for (const Kernel& section : sections) bodies.push_back(body_of(program, section));
  std::vector<ResidentTileChoice> choices;
  std::vector<Schedule> considered;
  const auto consider = [&](const Schedule& schedule) {
    if (std::ranges::find(considered, schedule) != considered.end()) return;
    considered.push_back(schedule);
    for (ResidentTileChoice& choice :
         choose_resident_tiles(program, sections, bodies, inner, schedule, target))
      choices.push_back(std::move(choice));
  };
  for (const Schedule& schedule : schedules) {
    const std::optional<Schedule> whole_rows = in_rows(schedule, sections, target);
    if (!whole_rows) continue;
    const Schedule shorter = with_short_vectors(with_shared_memory_left(*whole_rows));
    consider(shorter);
    consider(with_small_tiles(shorter));
  }
  drop_local_tiles_of_less(choices);
  std::ranges::stable_sort(choices, std::greater<>(), &ResidentTileChoice::seconds_saved);
  if (!choices.empty()) {
    const double seconds = seconds_without_resident_tiles(bodies, target, program.facts);
    const auto best = choices.begin() + static_cast<std::ptrdiff_t>(best_of(choices, seconds));
    std::rotate(choices.begin(), best, best + 1);
    result.bytes_saved = choices[0].bytes_saved;
    result.seconds_saved = choices[0].seconds_saved;
  }
  for (ResidentTileChoice& choice : choices) result.schedules.push_back(std::move(choice.schedule));
  for (Schedule& schedule : schedules)
    if (result.schedules.size() < kMaxSectionCandidates)
      result.schedules.push_back(std::move(schedule));
  return result;
}

}  // namespace sinter
