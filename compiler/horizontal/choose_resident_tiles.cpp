// Which resident tiles pay: how many channels, blocks and rounds, predicted.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/cost/cost.h"
#include "compiler/horizontal/local_tile_cost.h"
#include "compiler/horizontal/local_tiles.h"
#include "compiler/horizontal/resident_tiles.h"
#include "compiler/horizontal/unit_walk.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/target/gpu_constants.h"
#include "compiler/tiling/column_split.h"
#include "compiler/tiling/row_staging.h"
#include "compiler/tiling/transpose_tiles.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// Threads of an SM for which there are registers enough, as kernels of several sections have them.
constexpr int kThreadsPerSm = 512;
/// What predictions are not told apart by, of the time that the kernel takes: barriers and waiting
/// are assumptions, bytes are counted.
constexpr double kAlike = 0.03;
/// Shared memory: 32 banks of 4 bytes per clock of an SM, 6.5 times what an H200 reads.
constexpr std::int64_t kBanks = 32;
constexpr std::int64_t kBankBytes = 4;
constexpr double kBanksFaster = 6.5;

class ResidentTileChooser {
 public:
  ResidentTileChooser(const Program& program, std::span<const Kernel> sections,
                      std::span<const Body> bodies, std::span<const int> inner,
                      const Schedule& joined, const Target& target)
      : program_(program),
        sections_(sections),
        bodies_(bodies),
        inner_(inner),
        joined_(joined),
        target_(target) {}

  std::vector<ResidentTileChoice> choose() {
    const std::optional<std::int64_t> own = own_shared_bytes();
    if (!own) return {};
    reserved_ = *own;
    std::vector<ResidentTileChoice> choices;
    if (const auto resident_tiles =
            find_resident_tiles(program_, sections_, bodies_, joined_.sections)) {
      // Whatever stays in memory is worked on by as few threads.
      moved_ = static_cast<double>(resident_tiles->bytes());
      consider_sizes(*resident_tiles);
    }
    take_best(choices);
    std::vector<std::int64_t> units = numbers_of_units(bodies_);
    units.push_back(0);
    for (const std::int64_t number : units)
      if (const auto resident_tiles =
              find_local_tiles(program_, sections_, bodies_, inner_, joined_.sections, number))
        consider_sizes(*resident_tiles);
    take_best(choices);
    return choices;
  }

 private:
  void consider_sizes(const ResidentTiles& resident_tiles) {
    for (std::int64_t channels = resident_tiles.channels; channels > 0; --channels) {
      if (resident_tiles.channels % channels != 0 || !suits(resident_tiles, channels)) continue;
      ResidentTiles some = with_aligned_arrays(resident_tiles, channels);
      for (; !some.arrays.empty() && !reads_again(some); some.arrays.pop_back())
        for (int blocks = std::max(1, kThreadsPerSm / joined_.threads); blocks > 0; blocks /= 2)
          if (some.is_local)
            consider_local(some, channels, blocks);
          else
            consider(some, channels, blocks);
    }
  }

  /// Shared memory that sections use for other things; nullopt where that is not known here.
  std::optional<std::int64_t> own_shared_bytes() const {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Body& body = bodies_[i];
      const Schedule& schedule = joined_.sections[i];
      std::int64_t state = 0;
      for (const std::vector<BodyReduction>* reductions : {&body.reductions, &body.finals})
        for (const BodyReduction& reduction : *reductions)
          state = std::max<std::int64_t>(state, state_bytes(*reduction.node));
      if (schedule.in_shared) return std::nullopt;
      std::int64_t bytes = 0;
      switch (sections_[i].kind) {
        case KernelKind::column_reduce:
          bytes = 2 * round_up(exchange_places(schedule) * state, 16);
          break;
        case KernelKind::row_reduce: {
          const bool across =
              schedule.threads_per_row > 32 * schedule.groups || schedule.groups > 1;
          const std::int64_t chunks = std::max<std::int64_t>(schedule.vector / kChunk, 1);
          const std::int64_t places = across ? chunks : body.finals.empty() ? 0 : 1;
          bytes = 2 * round_up(schedule.threads * places * state, 16);
          if (!schedule.resident || schedule.blocks_per_row() > 1 || !may_have_staged_rows(body))
            break;
          for (const StagedRow& row : staged_rows(body, plan_resident_passes(body)))
            bytes +=
                round_up(staged_bytes(body, row, schedule.vector) * schedule.rows_per_block, 16);
          break;
        }
        case KernelKind::pointwise:
          if (schedule.tile == 0) break;
          for (const TiledAccess& access : all_of(body, tiled_accesses(body, program_.facts)))
            bytes += tile_bytes(schedule.tile, access.dtype, schedule.vector);
          break;
        default: return std::nullopt;
      }
      most = std::max(most, bytes);
    }
    return round_up(most, 16);
  }

  /// True if a section goes through something again that is in memory: it would keep it by itself.
  bool reads_again(const ResidentTiles& resident_tiles) const {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (bodies_[i].passes() == 1 || joined_.sections[i].resident) continue;
      if (std::ranges::any_of(bodies_[i].values, [&](const Value& value) {
            return value.kind == Value::Kind::load && value.varies &&
                   std::ranges::find(resident_tiles.arrays, program_.buffer_of.lookup(value.node),
                                     [](const ResidentTileArray& array) {
                                       return array.access.buffer;
                                     }) == resident_tiles.arrays.end();
          }))
        return true;
    }
    return false;
  }

  /// True if blocks can keep to resident tiles of so many channels, and these have whole sectors.
  bool suits(const ResidentTiles& resident_tiles, std::int64_t channels) const {
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (resident_tiles.sections[i].part == ResidentTileSection::Part::resident_tiles &&
          !stop_at_resident_tiles(sections_[i], resident_tiles.sections[i].walk,
                                  joined_.sections[i], channels))
        return false;
    return resident_tiles.has_units || channels == resident_tiles.channels ||
           std::ranges::all_of(resident_tiles.arrays, [&](const ResidentTileArray& array) {
             return !array.has_neighbouring_channels() ||
                    channels * size_of(array.access.dtype) % kSectorBytes == 0;
           });
  }

  /// True if blocks of those that have channels can keep to those of a round.
  bool suits_rounds(const ResidentTiles& resident_tiles, std::int64_t channels_per_round) const {
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (resident_tiles.sections[i].part == ResidentTileSection::Part::channels &&
          !stop_at_resident_tiles(sections_[i], resident_tiles.sections[i].walk,
                                  joined_.sections[i], channels_per_round))
        return false;
    return true;
  }

  /// What a thread copies at once, over what sections would load at once.
  double width_of_copies(const ResidentTiles& resident_tiles, std::int64_t channels) const {
    int vector = 1;
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (resident_tiles.sections[i].part == ResidentTileSection::Part::resident_tiles)
        vector = std::max(vector, joined_.sections[i].vector);
    double copies = 0;
    double loads = 0;
    for (const ResidentTileArray& array : resident_tiles.arrays) {
      if (array.is_written) continue;
      const int widest = 16 / size_of(array.access.dtype);
      copies += 1.0 / copy_of(resident_tiles, array, channels, program_.facts.alignment).vector;
      loads += 1.0 / std::min(vector, widest);
    }
    return copies > 0 ? std::min(loads / copies, 1.0) : 1;
  }

  /// What sections lose to threads without work and to banks of shared memory that they all ask, as
  /// if they moved so many bytes more.
  double bytes_of_waiting(const ResidentTiles& resident_tiles, std::int64_t channels) const {
    double bytes = 0;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (resident_tiles.sections[i].part != ResidentTileSection::Part::resident_tiles) continue;
      const double over = threads_over_work(sections_[i], resident_tiles.sections[i].walk,
                                            joined_.sections[i], channels);
      bytes += (over - 1) * moved_ / kTimesFaster;
    }
    return bytes + bytes_of_banks(resident_tiles, channels);
  }

  double bytes_of_banks(const ResidentTiles& resident_tiles, std::int64_t channels) const {
    double bytes = 0;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (resident_tiles.sections[i].part != ResidentTileSection::Part::resident_tiles) continue;
      if (sections_[i].kind != KernelKind::pointwise || joined_.sections[i].tile > 0) continue;
      // Its threads stand along rows.
      for (const ResidentTileArray& array : resident_tiles.arrays) {
        if (resident_tiles.has_units || !array.has_neighbouring_channels()) continue;
        const std::int64_t size = size_of(array.access.dtype);
        const std::int64_t words = std::max<std::int64_t>(channels * size / kBankBytes, 1);
        const auto together = static_cast<double>(std::gcd(kBanks, words));
        bytes += static_cast<double>(resident_tiles.elements(array) * kBankBytes) * together /
                 kBanksFaster;
      }
    }
    return bytes;
  }

  /// ResidentTiles that a block has place for where an SM has so many blocks.
  std::int64_t most_slots(const ResidentTiles& resident_tiles, std::int64_t channels,
                          int blocks) const {
    const std::int64_t there =
        std::min(target_.shared_per_sm / blocks - 1024, target_.shared_per_block_opt_in) / 16 * 16;
    return there <= reserved_
               ? 0
               : (there - reserved_) / resident_tiles.bytes_of_resident_tile(channels);
  }

  void consider(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks) {
    const std::int64_t most_slots = this->most_slots(resident_tiles, channels, blocks);
    if (most_slots == 0) return;
    const std::int64_t resident = std::int64_t{target_.sm_count} * blocks;
    const std::int64_t groups = resident_tiles.channels / channels;
    std::int64_t per_round = std::min(groups, resident * most_slots / resident_tiles.outer);
    if (per_round == 0) return;
    std::int64_t rounds = (groups + per_round - 1) / per_round;
    per_round = (groups + rounds - 1) / rounds;
    rounds = (groups + per_round - 1) / per_round;
    if (rounds > 1 &&
        (!resident_tiles.may_have_rounds || !suits_rounds(resident_tiles, per_round * channels)))
      return;
    const std::int64_t slots = (per_round * resident_tiles.outer + resident - 1) / resident;
    const int barriers = sections_.back().phase - resident_tiles.first_of_rounds;
    const double lost =
        static_cast<double>(rounds - 1) * (barriers * target_.barrier_seconds + kFillSeconds);
    const auto bytes = static_cast<double>(resident_tiles.bytes_saved());
    const auto at_once = static_cast<double>(per_round * resident_tiles.outer);
    const double lost_to_blocks = bytes_of_blocks(resident_tiles, channels, blocks, at_once);
    const double saved = (bytes - lost_to_blocks) / target_.bandwidth - lost;
    if (saved <= 0) return;
    add(resident_tiles, blocks, saved,
        {.channels = static_cast<int>(channels),
         .arrays = static_cast<int>(resident_tiles.arrays.size()),
         .per_block = static_cast<int>(slots),
         .rounds = static_cast<int>(rounds)});
  }

  /// What is lost to too few blocks with too little on its way, and to uneven shares of them, as if
  /// so many bytes more were moved.
  double bytes_of_blocks(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks,
                         double at_once) const {
    const double busy = std::min(at_once / target_.sm_count, 1.0);
    // A block copies one resident tile at a time.
    const double of_block =
        std::min(kBytesAhead * width_of_copies(resident_tiles, channels) * joined_.threads,
                 static_cast<double>(resident_tiles.bytes_of_resident_tile(channels)));
    const double ahead = of_block * blocks * busy;
    const double uneven = std::ceil(at_once / target_.sm_count) * target_.sm_count / at_once;
    return slower_by(target_, ahead) * moved_ + bytes_of_waiting(resident_tiles, channels) +
           (uneven - 1) * moved_ / kTimesFaster;
  }

  /// Blocks that go through their phases alone save the grid's barriers.
  void consider_local(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks) {
    if (most_slots(resident_tiles, channels, blocks) == 0) return;
    if (!local_time_) local_time_.emplace(program_, sections_, bodies_, joined_, target_);
    const auto bytes = static_cast<double>(resident_tiles.bytes_saved());
    const int barriers = sections_.back().phase - *std::ranges::max_element(resident_tiles.steps);
    const double saved = (bytes - bytes_of_banks(resident_tiles, channels)) / target_.bandwidth +
                         barriers * target_.barrier_seconds -
                         local_time_->lost(resident_tiles, channels, blocks,
                                           width_of_copies(resident_tiles, channels));
    if (saved <= 0) return;
    add(resident_tiles, blocks, saved,
        {.channels = static_cast<int>(channels),
         .arrays = static_cast<int>(resident_tiles.arrays.size()),
         .per_block = 1,
         .is_local = true,
         .units = resident_tiles.has_units ? resident_tiles.channels : 0});
  }

  /// The best of what was considered since the last time.
  void take_best(std::vector<ResidentTileChoice>& choices) {
    if (considered_.empty()) return;
    const double seconds = seconds_without_resident_tiles(bodies_, target_, program_.facts);
    choices.push_back(std::move(considered_[best_of(considered_, seconds)]));
    considered_.clear();
  }

  void add(const ResidentTiles& resident_tiles, int blocks, double saved,
           const ResidentTileSchedule& chosen) {
    ResidentTileChoice& choice = considered_.emplace_back(
        ResidentTileChoice{.schedule = joined_,
                           .bytes_saved = static_cast<double>(resident_tiles.bytes_saved()),
                           .seconds_saved = saved});
    choice.schedule.resident_tiles = chosen;
    choice.schedule.blocks_per_sm = blocks;
    const std::int64_t channels = chosen.channels;
    const std::int64_t per_round =
        (resident_tiles.channels / channels + chosen.rounds - 1) / chosen.rounds;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const ResidentTileSection& section = resident_tiles.sections[i];
      const bool has_resident_tiles = section.part == ResidentTileSection::Part::resident_tiles;
      if (!has_resident_tiles &&
          (chosen.rounds == 1 || section.part != ResidentTileSection::Part::channels))
        continue;
      if (has_resident_tiles && section.walk.strip > 0)
        choice.schedule.sections[i].strips = {.channels = static_cast<int>(section.walk.strip),
                                              .outer = static_cast<int>(section.walk.strip_outer)};
      if (has_resident_tiles && section.walk.rows_of_channel() > 1) {
        // What stands side by side in columns are channels.
        const bool has_columns = sections_[i].kind == KernelKind::column_reduce;
        choice.schedule.sections[i].strips = {
            .channels = has_columns ? static_cast<int>(channels) : 1,
            .outer = static_cast<int>(section.walk.segments)};
      }
      choice.schedule.sections[i].block_limit =
          stop_at_resident_tiles(sections_[i], section.walk, joined_.sections[i],
                                 has_resident_tiles ? channels : per_round * channels)
              .value();
    }
  }

  const Program& program_;
  std::span<const Kernel> sections_;
  std::span<const Body> bodies_;
  std::span<const int> inner_;
  const Schedule& joined_;
  const Target& target_;
  std::int64_t reserved_ = 0;  ///< shared memory that sections use for other things
  double moved_ = 0;           ///< bytes of all arrays, once
  std::optional<LocalTileTime> local_time_;
  std::vector<ResidentTileChoice> considered_;
};

}  // namespace

std::size_t best_of(std::span<const ResidentTileChoice> choices, double seconds) {
  double most = 0;
  for (const ResidentTileChoice& choice : choices) most = std::max(most, choice.seconds_saved);
  std::size_t best = 0;
  const auto is_better = [&](const ResidentTileChoice& a, const ResidentTileChoice& b) {
    const bool is_fast = a.seconds_saved >= most - kAlike * seconds;
    const bool other_is_fast = b.seconds_saved >= most - kAlike * seconds;
    if (is_fast != other_is_fast) return is_fast;
    if (a.bytes_saved != b.bytes_saved) return a.bytes_saved > b.bytes_saved;
    return a.seconds_saved > b.seconds_saved;
  };
  for (std::size_t i = 1; i < choices.size(); ++i)
    if (is_better(choices[i], choices[best])) best = i;
  return best;
}

double seconds_without_resident_tiles(std::span<const Body> bodies, const Target& target,
                                      const Facts& facts) {
  double seconds = 0;
  for (const Body& body : bodies) seconds += cost_of(body, target, facts).seconds;
  return seconds;
}

std::vector<ResidentTileChoice> choose_resident_tiles(
    const Program& program, std::span<const Kernel> sections, std::span<const Body> bodies,
    std::span<const int> inner, const Schedule& joined, const Target& target) {
  return ResidentTileChooser(program, sections, bodies, inner, joined, target).choose();
}

}  // namespace sinter
