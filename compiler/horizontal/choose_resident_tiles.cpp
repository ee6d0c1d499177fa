// Chooses resident tiles by predicted time: channels per tile, arrays, blocks per SM and rounds.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/cost/cost.h"
#include "compiler/horizontal/local_tiles.h"
#include "compiler/horizontal/memory_units.h"
#include "compiler/horizontal/resident_tiles.h"
#include "compiler/horizontal/tile_cost.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/target/gpu_constants.h"
#include "compiler/tiling/column_split.h"
#include "compiler/tiling/row_staging.h"
#include "compiler/tiling/transpose_tiles.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Threads per SM that the registers of a horizontally fused kernel usually allow.
constexpr int kThreadsPerSm = 512;
/// Predictions that differ by at most this fraction of the kernel's time count as equal, because
/// the costs of barriers and waiting are assumed. Bytes are counted.
constexpr double kEqualTimeShare = 0.03;
/// Shared memory: 32 banks of a word per clock and SM, 6.5 times the memory bandwidth of an H200.
constexpr std::int64_t kBanks = 32;
constexpr double kBankBandwidthRatio = 6.5;

class ResidentTileChooser {
 public:
  ResidentTileChooser(const FusedSections& sections, const Schedule& fused, const Target& target)
      : sections_(sections), fused_(fused), target_(target) {}

  std::vector<ResidentTileChoice> choose() {
    const std::optional<std::int64_t> own = own_shared_bytes();
    if (!own) return {};
    own_shared_bytes_ = *own;
    std::vector<ResidentTileChoice> choices;
    const std::vector<std::int64_t> units = unit_counts(sections_.bodies);
    std::vector<ResidentTiles> local;
    for (const std::int64_t number : units)
      if (auto tiles = find_local_tiles(sections_, fused_.sections, number))
        local.push_back(std::move(*tiles));
    if (auto tiles = find_local_tiles(sections_, fused_.sections, 0))
      local.push_back(std::move(*tiles));
    std::int64_t most_saved = 0;
    for (const ResidentTiles& tiles : local) most_saved = std::max(most_saved, tiles.bytes_saved());
    if (const auto tiles = find_resident_tiles(sections_, fused_.sections, 0)) {
      most_saved = std::max(most_saved, tiles->bytes_saved());
      consider_grid(*tiles);
    }
    // Units only where they save more, because their tiles cannot have rounds.
    for (const std::int64_t number : units)
      if (const auto tiles = find_resident_tiles(sections_, fused_.sections, number);
          tiles && tiles->bytes_saved() > most_saved)
        consider_grid(*tiles);
    take_best(choices);
    for (const ResidentTiles& tiles : local) consider_sizes(tiles);
    take_best(choices);
    return choices;
  }

 private:
  /// Considers resident tiles across grid barriers.
  void consider_grid(const ResidentTiles& resident_tiles) {
    // Arrays that stay in memory count too: the same few threads process them.
    tiled_bytes_ = static_cast<double>(resident_tiles.bytes());
    consider_sizes(resident_tiles);
  }

  void consider_sizes(const ResidentTiles& resident_tiles) {
    for (std::int64_t channels = resident_tiles.channels; channels > 0; --channels) {
      if (resident_tiles.channels % channels != 0 ||
          !keeps_blocks_within(resident_tiles, ResidentTileSection::Role::resident_tiles,
                               channels) ||
          !has_whole_sectors(resident_tiles, channels))
        continue;
      ResidentTiles some = with_aligned_arrays(resident_tiles, channels);
      for (; !some.arrays.empty() && !reads_again(some); some.arrays.pop_back())
        for (int blocks = std::max(1, kThreadsPerSm / fused_.threads); blocks > 0; blocks /= 2)
          if (some.is_local)
            consider_local(some, channels, blocks);
          else
            consider(some, channels, blocks);
    }
  }

  /// Bytes of shared memory that sections use for other purposes; nullopt if unknown here.
  std::optional<std::int64_t> own_shared_bytes() const {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Body& body = sections_.bodies[i];
      const Schedule& schedule = fused_.sections[i];
      std::int64_t state = 0;
      for (const std::vector<BodyReduction>* reductions : {&body.reductions, &body.finals})
        for (const BodyReduction& reduction : *reductions)
          state = std::max<std::int64_t>(state, state_bytes(*reduction.node));
      if (schedule.in_shared) return std::nullopt;
      std::int64_t bytes = 0;
      switch (sections_[i].kind) {
        case KernelKind::column_reduce:
          bytes = 2 * round_up(exchange_slots(schedule) * state, 16);
          break;
        case KernelKind::row_reduce: {
          const bool across =
              schedule.threads_per_row > kWarp * schedule.groups || schedule.groups > 1;
          const std::int64_t chunks = std::max<std::int64_t>(schedule.vector / kChunk, 1);
          const std::int64_t places = across ? chunks : body.finals.empty() ? 0 : 1;
          bytes = 2 * round_up(schedule.threads * places * state, 16);
          if (!schedule.resident || schedule.blocks_per_row() > 1 || !may_have_staged_rows(body))
            break;
          for (const StagedRow& row :
               staged_rows(body, plan_resident_passes(body), sections_.program.facts))
            bytes += round_up(staged_bytes(body, row, schedule.vector, sections_.program.facts) *
                                  schedule.rows_per_block,
                              16);
          break;
        }
        case KernelKind::pointwise:
          if (schedule.tile == 0) break;
          for (const TiledAccess& access :
               all_of(body, tiled_accesses(body, sections_.program.facts)))
            bytes += tile_bytes(schedule.tile, access.dtype, schedule.vector);
          break;
        default: return std::nullopt;
      }
      most = std::max(most, bytes);
    }
    return round_up(most, 16);
  }

  /// True if a section with several passes would read an array from memory in each pass. Without
  /// resident tiles, the section could keep its rows itself.
  bool reads_again(const ResidentTiles& resident_tiles) const {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (sections_.bodies[i].passes() == 1 || fused_.sections[i].resident) continue;
      if (std::ranges::any_of(sections_.bodies[i].values, [&](const Value& value) {
            return value.kind == Value::Kind::load && value.varies &&
                   !resident_tiles.has_array(sections_.program.buffer_of.lookup(value.node));
          }))
        return true;
    }
    return false;
  }

  /// True if no block of the sections with `role` would cross a multiple of `channels` channels.
  bool keeps_blocks_within(const ResidentTiles& resident_tiles, ResidentTileSection::Role role,
                           std::int64_t channels) const {
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (resident_tiles.sections[i].role == role &&
          !block_limit_for_tiles(sections_[i], resident_tiles.sections[i].axes, fused_.sections[i],
                                 channels))
        return false;
    return true;
  }

  /// True if tiles of `channels` channels consist of whole sectors.
  static bool has_whole_sectors(const ResidentTiles& resident_tiles, std::int64_t channels) {
    return resident_tiles.has_units || channels == resident_tiles.channels ||
           std::ranges::all_of(resident_tiles.arrays, [&](const ResidentTileArray& array) {
             return !array.has_contiguous_channels() ||
                    channels * size_of(array.access.dtype) % kSectorBytes == 0;
           });
  }

  /// The vector width of copies into resident tiles, relative to the widest loads of the sections;
  /// at most 1.
  double copy_width(const ResidentTiles& resident_tiles, std::int64_t channels) const {
    int vector = 1;
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (resident_tiles.runs_on_tiles(i)) vector = std::max(vector, fused_.sections[i].vector);
    double copies = 0;
    double loads = 0;
    for (const ResidentTileArray& array : resident_tiles.arrays) {
      if (array.is_produced) continue;
      const int widest = 16 / size_of(array.access.dtype);
      copies +=
          1.0 / copy_of(resident_tiles, array, channels, sections_.program.facts.alignment).vector;
      loads += 1.0 / std::min(vector, widest);
    }
    return copies > 0 ? std::min(loads / copies, 1.0) : 1;
  }

  /// The loss to threads without work and to bank conflicts, in equivalent bytes of memory traffic.
  double idle_loss_bytes(const ResidentTiles& resident_tiles, std::int64_t channels) const {
    double bytes = 0;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!resident_tiles.runs_on_tiles(i)) continue;
      const double over = thread_work_ratio(sections_[i], resident_tiles.sections[i].axes,
                                            fused_.sections[i], channels);
      bytes += (over - 1) * tiled_bytes_ / target_.tile_speedup;
    }
    return bytes + bank_conflict_bytes(resident_tiles, channels);
  }

  /// The loss to bank conflicts, in the same unit.
  double bank_conflict_bytes(const ResidentTiles& resident_tiles, std::int64_t channels) const {
    double bytes = 0;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!resident_tiles.runs_on_tiles(i)) continue;
      if (sections_[i].kind != KernelKind::pointwise || fused_.sections[i].tile > 0) continue;
      // Adjacent threads have adjacent rows, which are `channels` elements apart in the tile.
      for (const ResidentTileArray& array : resident_tiles.arrays) {
        if (resident_tiles.has_units || !array.has_contiguous_channels()) continue;
        const std::int64_t size = size_of(array.access.dtype);
        const std::int64_t words = std::max<std::int64_t>(channels * size / kWordBytes, 1);
        const auto together = static_cast<double>(std::gcd(kBanks, words));
        bytes += static_cast<double>(resident_tiles.elements(array) * kWordBytes) * together /
                 kBankBandwidthRatio;
      }
    }
    return bytes;
  }

  /// Resident tiles that fit in the shared memory of a block, with `blocks` blocks per SM.
  std::int64_t max_slots(const ResidentTiles& resident_tiles, std::int64_t channels,
                         int blocks) const {
    const std::int64_t there =
        std::min(target_.shared_per_sm / blocks - 1024, target_.shared_per_block_opt_in) / 16 * 16;
    return there <= own_shared_bytes_
               ? 0
               : (there - own_shared_bytes_) / resident_tiles.bytes_of_resident_tile(channels);
  }

  /// Considers tiles that all stay, in as few rounds as possible, and tiles of which some stay.
  void consider(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks) {
    const std::int64_t max_slots = this->max_slots(resident_tiles, channels, blocks);
    if (max_slots == 0) return;
    const std::int64_t fit = std::int64_t{target_.sm_count} * blocks * max_slots;
    const std::int64_t groups = resident_tiles.channels / channels;
    if (const std::int64_t most = std::min(groups, fit / resident_tiles.outer); most > 0)
      consider_rounds(resident_tiles, channels, blocks,
                      {.per_round = divide_up(groups, divide_up(groups, most))});
    // The best number of rounds of which each has more tiles than fit.
    std::optional<TilesOfRound> best;
    double most_saved = 0;
    for (std::int64_t per_round = groups; per_round * resident_tiles.outer > fit; --per_round) {
      if (groups % per_round != 0) continue;
      const TilesOfRound tiles{.per_round = per_round, .kept = fit};
      const double saved = seconds_saved(resident_tiles, channels, blocks, tiles);
      if (saved > most_saved) {
        most_saved = saved;
        best = tiles;
      }
    }
    if (best) consider_rounds(resident_tiles, channels, blocks, *best);
  }

  /// The tiles of a round.
  struct TilesOfRound {
    std::int64_t per_round = 1;  ///< groups of channels
    std::int64_t kept = 0;       ///< tiles that stay; 0: all
  };

  /// The seconds that these tiles save; at most 0 if they are not possible.
  double seconds_saved(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks,
                       const TilesOfRound& tiles) const {
    const std::int64_t groups = resident_tiles.channels / channels;
    const std::int64_t rounds = divide_up(groups, tiles.per_round);
    if (rounds > 1 && (!resident_tiles.may_have_rounds ||
                       !keeps_blocks_within(resident_tiles, ResidentTileSection::Role::channels,
                                            tiles.per_round * channels)))
      return 0;
    const int barriers = sections_.kernels.back().phase - resident_tiles.first_repeated_phase;
    const double lost = static_cast<double>(rounds - 1) *
                        (barriers * target_.barrier_seconds + target_.tile_copy_seconds);
    const auto all = static_cast<double>(tiles.per_round * resident_tiles.outer);
    const double at_once = tiles.kept > 0 ? static_cast<double>(tiles.kept) : all;
    const double share = at_once / all;
    const auto bytes = static_cast<double>(resident_tiles.bytes_saved()) * share;
    const double lost_to_blocks =
        share * block_loss_bytes(resident_tiles, channels, blocks, at_once) +
        (1 - share) * idle_loss_bytes(resident_tiles, channels);
    return (bytes - lost_to_blocks) / target_.bandwidth - lost -
           (1 - share) * tile_cost().loss_in_memory(resident_tiles, blocks);
  }

  const TileCost& tile_cost() const {
    if (!tile_cost_) tile_cost_.emplace(sections_, fused_, target_);
    return *tile_cost_;
  }

  void consider_rounds(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks,
                       const TilesOfRound& tiles) {
    const double saved = seconds_saved(resident_tiles, channels, blocks, tiles);
    if (saved <= 0) return;
    const std::int64_t all = tiles.per_round * resident_tiles.outer;
    const std::int64_t stay = tiles.kept > 0 ? tiles.kept : all;
    add(resident_tiles, blocks, saved, static_cast<double>(stay) / static_cast<double>(all),
        {.channels = static_cast<int>(channels),
         .arrays = static_cast<int>(resident_tiles.arrays.size()),
         .per_block = static_cast<int>(divide_up(stay, std::int64_t{target_.sm_count} * blocks)),
         .kept = tiles.kept > 0 || resident_tiles.produces() ? stay : 0,
         .rounds = static_cast<int>(divide_up(resident_tiles.channels / channels, tiles.per_round)),
         .units = resident_tiles.has_units ? resident_tiles.channels : 0});
  }

  /// The loss to few blocks with few loads in flight and to uneven shares of the SMs, in equivalent
  /// bytes of memory traffic.
  double block_loss_bytes(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks,
                          double at_once) const {
    const double busy = std::min(at_once / target_.sm_count, 1.0);
    // A block copies one resident tile at a time.
    const double of_block =
        std::min(kBytesInFlightPerThread * copy_width(resident_tiles, channels) * fused_.threads,
                 static_cast<double>(resident_tiles.bytes_of_resident_tile(channels)));
    const double bytes_in_flight = of_block * blocks * busy;
    const double uneven = std::ceil(at_once / target_.sm_count) * target_.sm_count / at_once;
    return extra_memory_time(target_, bytes_in_flight) * tiled_bytes_ +
           idle_loss_bytes(resident_tiles, channels) +
           (uneven - 1) * tiled_bytes_ / target_.tile_speedup;
  }

  /// Considers local tiles, which also save the grid barriers between their phases.
  void consider_local(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks) {
    if (max_slots(resident_tiles, channels, blocks) == 0) return;
    const auto bytes = static_cast<double>(resident_tiles.bytes_saved());
    const int barriers =
        sections_.kernels.back().phase - *std::ranges::max_element(resident_tiles.barriers_before);
    const double saved =
        (bytes - bank_conflict_bytes(resident_tiles, channels)) / target_.bandwidth +
        barriers * target_.barrier_seconds -
        tile_cost().predicted_loss(resident_tiles, channels, blocks,
                                   copy_width(resident_tiles, channels));
    if (saved <= 0) return;
    add(resident_tiles, blocks, saved, 1,
        {.channels = static_cast<int>(channels),
         .arrays = static_cast<int>(resident_tiles.arrays.size()),
         .per_block = 1,
         .is_local = true,
         .units = resident_tiles.has_units ? resident_tiles.channels : 0});
  }

  /// Appends the best choice considered since the last call.
  void take_best(std::vector<ResidentTileChoice>& choices) {
    if (considered_.empty()) return;
    const double seconds = seconds_without_resident_tiles(sections_, target_);
    choices.push_back(std::move(considered_[best_of(considered_, seconds)]));
    considered_.clear();
  }

  /// `share`: of the tiles, those that stay.
  void add(const ResidentTiles& resident_tiles, int blocks, double saved, double share,
           const ResidentTileSchedule& chosen) {
    ResidentTileChoice& choice = considered_.emplace_back(
        ResidentTileChoice{.schedule = fused_,
                           .bytes_saved = static_cast<double>(resident_tiles.bytes_saved()) * share,
                           .seconds_saved = saved});
    choice.schedule.resident_tiles = chosen;
    choice.schedule.blocks_per_sm = blocks;
    const std::int64_t channels = chosen.channels;
    const std::int64_t per_round = divide_up(resident_tiles.channels / channels, chosen.rounds);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const ResidentTileSection& section = resident_tiles.sections[i];
      const bool runs_on_tiles = resident_tiles.runs_on_tiles(i);
      if (!runs_on_tiles &&
          (chosen.rounds == 1 || section.role != ResidentTileSection::Role::channels))
        continue;
      if (runs_on_tiles && section.axes.strip > 0)
        choice.schedule.sections[i].strips = {.channels = static_cast<int>(section.axes.strip),
                                              .outer = static_cast<int>(section.axes.strip_outer)};
      if (runs_on_tiles && section.axes.rows_per_channel() > 1) {
        // Adjacent columns are adjacent channels.
        const bool has_columns = sections_[i].kind == KernelKind::column_reduce;
        choice.schedule.sections[i].strips = {
            .channels = has_columns ? static_cast<int>(channels) : 1,
            .outer = static_cast<int>(section.axes.segments)};
      }
      choice.schedule.sections[i].block_limit =
          block_limit_for_tiles(sections_[i], section.axes, fused_.sections[i],
                                runs_on_tiles ? channels : per_round * channels)
              .value();
    }
  }

  const FusedSections& sections_;
  const Schedule& fused_;
  const Target& target_;
  std::int64_t own_shared_bytes_ = 0;          ///< of shared memory that sections use otherwise
  double tiled_bytes_ = 0;                     ///< bytes of all arrays, each counted once
  mutable std::optional<TileCost> tile_cost_;  ///< made when it is first needed
  std::vector<ResidentTileChoice> considered_;
};

}  // namespace

std::size_t best_of(std::span<const ResidentTileChoice> choices, double seconds) {
  double most = 0;
  for (const ResidentTileChoice& choice : choices) most = std::max(most, choice.seconds_saved);
  std::size_t best = 0;
  const auto is_better = [&](const ResidentTileChoice& a, const ResidentTileChoice& b) {
    const bool is_fast = a.seconds_saved >= most - kEqualTimeShare * seconds;
    const bool other_is_fast = b.seconds_saved >= most - kEqualTimeShare * seconds;
    if (is_fast != other_is_fast) return is_fast;
    if (a.bytes_saved != b.bytes_saved) return a.bytes_saved > b.bytes_saved;
    return a.seconds_saved > b.seconds_saved;
  };
  for (std::size_t i = 1; i < choices.size(); ++i)
    if (is_better(choices[i], choices[best])) best = i;
  return best;
}

double seconds_without_resident_tiles(const FusedSections& sections, const Target& target) {
  double seconds = 0;
  for (const Body& body : sections.bodies)
    seconds += cost_of(body, target, sections.program.facts).seconds;
  return seconds;
}

std::vector<ResidentTileChoice> choose_resident_tiles(const FusedSections& sections,
                                                      const Schedule& fused, const Target& target) {
  return ResidentTileChooser(sections, fused, target).choose();
}

}  // namespace sinter
