#include "compiler/horizontal/section_schedules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include "compiler/body_building/build_body.h"
#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

namespace {

/// Few, because a horizontally fused kernel is compiled once per candidate, with all its sections.
constexpr std::size_t kMaxSectionCandidates = 6;

/// The cluster sizes that a section may have, if its kernel has clusters.
enum class Clusters { as_planned, of_any_size };

/// `candidate` of `kernel`, changed to blocks of `threads`; nullopt if that is impossible.
std::optional<Schedule> with_threads(const Kernel& kernel, const Schedule& candidate, int threads,
                                     const Target& target, Clusters clusters) {
  // If a row needs a cluster, only schedules with clusters read it once.
  const bool has_cluster = kernel.schedule.blocks_per_row() > 1;
  if (has_cluster != (candidate.blocks_per_row() > 1)) return std::nullopt;
  // Column states combine without clusters too. Otherwise the block counts of other sections would
  // have to be multiples of the cluster size.
  if (candidate.combines_columns) return std::nullopt;
  // The shared memory of a launch belongs to resident data and exchanges.
  if (candidate.copies != Copies::none) return std::nullopt;
  // The kernels of a list have different sizes.
  if (candidate.is_flat && kernel.foreach_list >= 0) return std::nullopt;
  if (clusters == Clusters::as_planned &&
      candidate.blocks_per_row() != kernel.schedule.blocks_per_row())
    return std::nullopt;
  if (has_cluster && candidate.threads != threads) return std::nullopt;
  // Schedules for CPUs have other vectors than those for GPUs.
  if (candidate.is_for_cpu() != (threads == 1)) return std::nullopt;
  Schedule schedule = candidate;
  // The tiles of a scan wait for one another only in a launch without other kernels.
  if (kernel.kind == KernelKind::scan) schedule.splits_rows = false;
  if (schedule.threads == threads) return schedule;
  switch (kernel.kind) {
    case KernelKind::pointwise:
    case KernelKind::scatter:
      if (schedule.tile > 0) return std::nullopt;  // threads have equal shares of a tile
      schedule.threads = threads;
      return schedule;
    case KernelKind::row_reduce:
    case KernelKind::column_reduce:
    case KernelKind::row_column_reduce:
    case KernelKind::scan: {
      if (schedule.tile > 0) return std::nullopt;  // the rows of a block fill sectors
      // More or fewer rows (or subtrees of rows) per block; the work of each thread stays the same.
      const int rows = threads / schedule.threads_per_row;
      if (rows == 0 || rows * schedule.threads_per_row != threads) return std::nullopt;
      // The kept data of more rows, or their column states, might not fit in shared memory.
      const bool has_columns = kernel.kind == KernelKind::row_column_reduce;
      if ((schedule.in_shared || has_columns) && rows > schedule.rows_per_block)
        return std::nullopt;
      // Shared memory for the exchange grows with the threads: two halves of 24 bytes per state.
      const std::int64_t shared = std::int64_t{threads} * schedule.vector * 48;
      if (!has_columns && shared > target.shared_per_block_opt_in) return std::nullopt;
      schedule.rows_per_block = rows;
      schedule.threads = threads;
      return schedule;
    }
    case KernelKind::full_reduce:
    case KernelKind::horizontal:
    case KernelKind::opaque: break;
  }
  return std::nullopt;
}

/// Block sizes that are tried after the one of the largest section.
constexpr std::array<int, 4> kBlockSizes = {256, 128, 512, 64};

/// At most `most` candidates of `kernel` with blocks of `threads`, in their order. Candidates that
/// have this size already come first.
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

/// For each section, the section whose schedule it takes: itself, or the largest one of its list.
std::vector<std::size_t> schedule_sources(std::span<const Kernel> sections,
                                          std::span<const std::int64_t> elements) {
  std::map<int, std::size_t> largest;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto [found, is_new] = largest.try_emplace(sections[i].foreach_list, i);
    if (elements[i] > elements[found->second]) found->second = i;
  }
  std::vector<std::size_t> sources(sections.size());
  for (std::size_t i = 0; i < sections.size(); ++i)
    sources[i] = sections[i].foreach_list < 0 ? i : largest.at(sections[i].foreach_list);
  return sources;
}

}  // namespace

bool supports_block_size(const Kernel& kernel, int threads, const Target& target) {
  return std::ranges::any_of(kernel.candidates, [&](const Schedule& candidate) {
    return with_threads(kernel, candidate, threads, target, Clusters::as_planned).has_value();
  });
}

unsigned supported_block_sizes(const Kernel& kernel, const Target& target) {
  unsigned result = 0;
  for (std::size_t i = 0; i < kBlockSizes.size(); ++i)
    if (supports_block_size(kernel, kBlockSizes[i], target)) result |= 1U << i;
  return result;
}

std::vector<Schedule> section_candidates(std::span<const Kernel> sections, const Facts& facts,
                                         const Target& target) {
  std::vector<std::int64_t> elements;
  for (const Kernel& section : sections)
    elements.push_back(evaluate(iterations(section), facts.symbols));
  const auto index_of_heaviest = std::ranges::max_element(elements) - elements.begin();
  const Kernel& heaviest = sections[static_cast<std::size_t>(index_of_heaviest)];
  const std::vector<std::size_t> sources = schedule_sources(sections, elements);
  // A launch has clusters of one size.
  const auto with_clusters = std::ranges::count_if(
      sections, [](const Kernel& section) { return section.schedule.blocks_per_row() > 1; });
  const Clusters clusters = with_clusters > 1 ? Clusters::as_planned : Clusters::of_any_size;
  std::vector<Schedule> result;
  std::vector<int> sizes = {heaviest.schedule.threads};
  for (const int threads : kBlockSizes)
    if (threads != sizes[0]) sizes.push_back(threads);
  for (const int threads : sizes) {
    const std::size_t choices = threads == sizes[0] ? 3 : 1;
    std::vector<std::vector<Schedule>> each(sections.size());
    bool has_all_sections = true;
    for (std::size_t i = 0; i < sections.size() && has_all_sections; ++i) {
      if (sources[i] != i) continue;
      each[i] = schedules_with(sections[i], threads, choices, target, clusters);
      has_all_sections = !each[i].empty();
    }
    if (!has_all_sections) continue;
    for (std::size_t i = 0; i < choices && result.size() < kMaxSectionCandidates; ++i) {
      Schedule fused{.threads = threads};
      fused.sections.reserve(sources.size());
      for (const std::size_t source : sources) {
        fused.sections.push_back(each[source][std::min(i, each[source].size() - 1)]);
        fused.sections.back().blocks_per_sm = 0;  // the register limit applies to the whole kernel
      }
      if (std::ranges::find(result, fused) == result.end()) result.push_back(std::move(fused));
    }
  }
  return result;
}

namespace {

/// In a large block, a thread has 128 registers: too few for tiles with vectors of eight elements.
Schedule with_short_vectors(Schedule fused) {
  constexpr int kLargeBlock = 512;
  constexpr int kShort = 4;
  if (fused.threads < kLargeBlock) return fused;
  for (Schedule& section : fused.sections)
    if (section.tile > 0) section.vector = std::min(section.vector, kShort);
  return fused;
}

/// Resident tiles with few channels fill only small transpose tiles.
Schedule with_small_tiles(Schedule fused) {
  constexpr int kSmall = 32;
  for (Schedule& section : fused.sections)
    if (section.tile > kSmall && kSmall * kSmall % (section.vector * section.threads) == 0)
      section.tile = kSmall;
  return fused;
}

/// Replaces schedules whose vectors cross the ends of rows, because a block of a resident tile may
/// stop at the end of a row. Returns nullopt if a section has no other schedule.
std::optional<Schedule> without_flat_vectors(Schedule fused, std::span<const Kernel> sections,
                                             const Target& target) {
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (!fused.sections[i].is_flat) continue;
    std::optional<Schedule> other;
    for (const Schedule& candidate : sections[i].candidates)
      if (!other && !candidate.is_flat)
        other = with_threads(sections[i], candidate, fused.threads, target, Clusters::as_planned);
    if (!other) return std::nullopt;
    fused.sections[i] = *other;
    fused.sections[i].blocks_per_sm = 0;
  }
  return fused;
}

/// Leaves shared memory to resident tiles. Data that sections would keep there is in resident
/// tiles, or is read again.
Schedule without_shared_residency(Schedule fused) {
  for (Schedule& section : fused.sections) {
    if (section.in_shared) section.in_shared = section.resident = false;
    if (section.rows_per_block > 1) section.tile = 0;
  }
  return fused;
}

/// Drops local tiles that save fewer bytes than other resident tiles. Their advantage would only be
/// the assumed cost of barriers.
void drop_worse_local_tiles(std::vector<ResidentTileChoice>& choices) {
  double most = 0;
  for (const ResidentTileChoice& choice : choices)
    if (!choice.schedule.resident_tiles.is_local) most = std::max(most, choice.bytes_saved);
  std::erase_if(choices, [&](const ResidentTileChoice& choice) {
    return choice.schedule.resident_tiles.is_local && choice.bytes_saved < most;
  });
}

/// True for sections that a launch with resident tiles may have. Other kernels need shared memory
/// or clusters, or belong to a list.
bool may_accompany_resident_tiles(const Kernel& section) {
  const bool is_of_resident_tiles = section.kind == KernelKind::pointwise ||
                                    section.kind == KernelKind::row_reduce ||
                                    section.kind == KernelKind::column_reduce;
  return is_of_resident_tiles && section.foreach_list < 0 && section.schedule.blocks_per_row() == 1;
}

/// True if all extents are constants. Other sections cannot use resident tiles.
bool has_constant_extents(const Kernel& section) {
  return section.reduced.is_number() && std::ranges::all_of(section.parallel, &Extent::is_number);
}

}  // namespace

ResidentTileCandidates with_resident_tiles(const Program& program, std::span<const Kernel> sections,
                                           std::span<const int> internal_buffers,
                                           std::vector<Schedule> schedules, const Target& target) {
  ResidentTileCandidates result{.seconds_saved = -1};
  if (!std::ranges::all_of(sections, may_accompany_resident_tiles) ||
      std::ranges::none_of(sections, has_constant_extents)) {
    result.schedules = std::move(schedules);
    return result;
  }
  std::vector<Body> bodies;
  for (const Kernel& section : sections) bodies.push_back(body_of(program, section));
  const FusedSections fused{.program = program,
                            .kernels = sections,
                            .bodies = bodies,
                            .internal_buffers = internal_buffers};
  std::vector<ResidentTileChoice> choices;
  std::vector<Schedule> considered;
  const auto consider = [&](const Schedule& schedule) {
    if (std::ranges::find(considered, schedule) != considered.end()) return;
    considered.push_back(schedule);
    for (ResidentTileChoice& choice : choose_resident_tiles(fused, schedule, target))
      choices.push_back(std::move(choice));
  };
  for (const Schedule& schedule : schedules) {
    const std::optional<Schedule> unflattened = without_flat_vectors(schedule, sections, target);
    if (!unflattened) continue;
    const Schedule candidate = with_short_vectors(without_shared_residency(*unflattened));
    consider(candidate);
    consider(with_small_tiles(candidate));
  }
  drop_worse_local_tiles(choices);
  std::ranges::stable_sort(choices, std::greater<>(), &ResidentTileChoice::seconds_saved);
  if (!choices.empty()) {
    const double seconds = seconds_without_resident_tiles(fused, target);
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
