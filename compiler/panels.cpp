#include "compiler/panels.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "compiler/column_pieces.h"
#include "compiler/cost.h"
#include "compiler/parts.h"
#include "compiler/tiles.h"
#include "compiler/tree.h"

namespace sinter {

namespace {

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

class PanelFinder {
 public:
  PanelFinder(const Program& program, std::span<const Kernel> members, std::span<const Body> bodies,
              std::span<const Schedule> schedules)
      : program_(program), members_(members), bodies_(bodies), schedules_(schedules) {}

  /// Of all shapes that members go through, the one that saves most.
  std::optional<Panels> find() {
    for (std::size_t i = 0; i < members_.size(); ++i)
      all_walks_.push_back(walk_of_panels(members_[i], bodies_[i], schedules_[i], program_.facts));
    find_written();
    std::optional<Panels> best;
    for (const PanelWalk& shape : shapes()) {
      set_shape(shape);
      find_arrays();
      if (panels_.arrays.empty()) continue;
      if (best && best->bytes_saved() >= panels_.bytes_saved()) continue;
      divide_work();
      best = panels_;
    }
    return best;
  }

 private:
  static bool is_alike(const PanelWalk& a, const PanelWalk& b) {
    return a.outer == b.outer && a.channels == b.channels && a.rows == b.rows;
  }

  /// What has no shape of its own, because its axes are merged, follows the others.
  std::vector<PanelWalk> shapes() const {
    std::vector<PanelWalk> result;
    for (const bool is_merged : {false, true}) {
      if (!result.empty()) break;
      for (const std::optional<PanelWalk>& walk : all_walks_)
        if (walk && walk->rows > 1 && walk->is_merged == is_merged &&
            std::ranges::none_of(result,
                                 [&](const PanelWalk& known) { return is_alike(known, *walk); }))
          result.push_back(*walk);
    }
    return result;
  }

  void set_shape(const PanelWalk& shape) {
    panels_ = {.outer = shape.outer, .channels = shape.channels, .rows = shape.rows};
    walks_ = all_walks_;
    for (std::optional<PanelWalk>& walk : walks_) {
      if (!walk) continue;
      if (walk->is_merged && walk->channels % shape.channels == 0)
        walk = with_channels(*walk, shape.channels);
      if (!is_alike(*walk, shape)) walk.reset();
    }
  }

  int whole(int buffer) const { return whole_of(program_, buffer); }

  /// What is written by one member and loaded by another, or written by two.
  void find_written() {
    std::map<int, std::set<std::size_t>> loaded_by;  // wholes
    std::map<int, std::set<std::size_t>> stored_by;  // parts for themselves
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (const Value& value : bodies_[i].values)
        if (value.kind == Value::Kind::load)
          loaded_by[whole(program_.buffer_of.lookup(value.node))].insert(i);
      for (const Store& store : members_[i].stores) stored_by[store.buffer].insert(i);
    }
    for (const auto& [buffer, writers] : stored_by) {
      written_.insert(whole(buffer));
      const std::set<std::size_t>& readers = loaded_by[whole(buffer)];
      if (writers.size() > 1 || readers.size() > 1 || (readers.size() == 1 && readers != writers))
        exchanged_.insert(whole(buffer));
    }
  }

  std::vector<PanelAccess> accesses(std::size_t member) const {
    return accesses_of(program_, members_[member], bodies_[member], *walks_[member]);
  }

  /// Arrays that several members load, all of them alike.
  void find_arrays() {
    std::map<int, PanelArray> arrays;
    std::set<int> unfit;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!walks_[i]) continue;
      std::set<int> loaded;
      for (const PanelAccess& access : accesses(i)) {
        if (access.is_store || written_.contains(whole(access.buffer))) continue;
        const auto [known, is_new] = arrays.try_emplace(access.buffer, PanelArray{access, 0});
        if (!access.is_alike(known->second.access)) unfit.insert(access.buffer);
        if (loaded.insert(access.buffer).second) ++known->second.loads;
      }
    }
    for (const auto& [buffer, array] : arrays)
      if (array.loads > 1 && !unfit.contains(buffer) && is_panel(array.access))
        panels_.arrays.push_back(array);
    // Where not all of them find a place, those that are read most often come first.
    std::ranges::stable_sort(panels_.arrays, std::greater<>(), &PanelArray::loads);
  }

  /// True for arrays that differ at each place, and have neighbours in memory along one axis.
  bool is_panel(const PanelAccess& access) const {
    const bool is_whole = (access.outer_stride != 0 || panels_.outer == 1) &&
                          access.channel_stride != 0 && access.row_stride != 0;
    return is_whole && access.is_linear && (access.channel_stride == 1 || access.row_stride == 1);
  }

  bool touches(std::size_t member, const std::set<int>& wholes, bool stores) const {
    if (stores && std::ranges::any_of(members_[member].stores, [&](const Store& store) {
          return wholes.contains(whole(store.buffer));
        }))
      return true;
    return !stores && std::ranges::any_of(bodies_[member].values, [&](const Value& value) {
      return value.kind == Value::Kind::load &&
             wholes.contains(whole(program_.buffer_of.lookup(value.node)));
    });
  }

  /// True if `member` may be done with before any round: it needs nothing of them, and what it
  /// writes is read behind it only.
  bool is_first(std::size_t member) const {
    std::set<int> of_rounds = exchanged_;
    for (const int buffer : written_first_) of_rounds.erase(buffer);
    if (touches(member, of_rounds, false)) return false;
    std::set<int> stores;
    for (const Store& store : members_[member].stores) stores.insert(whole(store.buffer));
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (i != member && members_[i].phase <= members_[member].phase &&
          (touches(i, stores, false) || touches(i, stores, true)))
        return false;
    return true;
  }

  /// Who does what in a round. Rounds are for channels: what is exchanged must belong to one.
  void divide_work() {
    panels_.may_have_rounds = true;
    written_first_.clear();
    std::map<int, PanelAccess> exchanged;
    panels_.members.resize(members_.size());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      PanelMember& member = panels_.members[i];
      if (walks_[i]) {
        member = {.part = PanelMember::Part::panels, .walk = *walks_[i]};
      } else {
        walks_[i] = walk_of_channels(members_[i], bodies_[i], schedules_[i]);
        const bool has_channels = walks_[i] && walks_[i]->channels == panels_.channels &&
                                  (walks_[i]->outer == 1 || walks_[i]->outer == panels_.outer);
        if (is_first(i)) {
          member.part = PanelMember::Part::first;
          for (const Store& store : members_[i].stores) written_first_.insert(whole(store.buffer));
          continue;
        }
        if (!has_channels) {
          member.part = PanelMember::Part::last;
          panels_.may_have_rounds &= !touches(i, exchanged_, true);
          continue;
        }
        member = {.part = PanelMember::Part::channels, .walk = *walks_[i]};
      }
      for (const PanelAccess& access : accesses(i)) {
        const int buffer = whole(access.buffer);
        if (!exchanged_.contains(buffer) || written_first_.contains(buffer)) continue;
        PanelAccess in_whole = access;
        const Extent offset = program_.buffers[static_cast<std::size_t>(access.buffer)].offset;
        in_whole.is_linear &= offset.is_number();
        if (offset.is_number()) in_whole.offset += offset.number();
        const auto [known, is_new] = exchanged.try_emplace(buffer, in_whole);
        panels_.may_have_rounds &= in_whole.is_alike(known->second) && access.channel_stride != 0;
      }
    }
  }

  const Program& program_;
  std::span<const Kernel> members_;
  std::span<const Body> bodies_;
  std::span<const Schedule> schedules_;
  std::vector<std::optional<PanelWalk>> all_walks_;
  std::vector<std::optional<PanelWalk>> walks_;  ///< those of the shape that is looked at
  std::set<int> written_;                        ///< wholes
  std::set<int> exchanged_;                      ///< likewise
  std::set<int> written_first_;                  ///< likewise, before any round
  Panels panels_;
};

}  // namespace

std::int64_t Panels::bytes_of_panel(std::int64_t panel_channels) const {
  std::int64_t bytes = 0;
  for (const PanelArray& array : arrays)
    bytes += round_up(panel_channels * rows * size_of(array.access.dtype), 16);
  return bytes;
}

std::int64_t Panels::bytes() const {
  std::int64_t bytes = 0;
  for (const PanelArray& array : arrays) bytes += elements() * size_of(array.access.dtype);
  return bytes;
}

std::int64_t Panels::bytes_saved() const {
  std::int64_t bytes = 0;
  for (const PanelArray& array : arrays)
    bytes += elements() * size_of(array.access.dtype) * (array.loads - 1);
  return bytes;
}

std::optional<Panels> find_panels(const Program& program, std::span<const Kernel> members,
                                  std::span<const Body> bodies,
                                  std::span<const Schedule> schedules) {
  return PanelFinder(program, members, bodies, schedules).find();
}

namespace {

/// What a panel's copy is waited for, each round, before there is work again.
constexpr double kFillSeconds = 1e-6;
/// Threads of an SM for which there are registers enough, as kernels of several members have them.
constexpr int kThreadsPerSm = 512;
constexpr std::int64_t kSector = 32;
/// What a thread has on its way of a panel: up to 8 vectors of 16 bytes, and none while it
/// computes.
constexpr double kBytesAhead = 96;
/// Panels are worked on so many times as fast as they are copied from memory, roughly.
constexpr double kTimesFaster = 4;
/// Shared memory: 32 banks of 4 bytes per clock of an SM, 6.5 times what an H200 reads.
constexpr std::int64_t kBanks = 32;
constexpr std::int64_t kBankBytes = 4;
constexpr double kBanksFaster = 6.5;

class PanelChooser {
 public:
  PanelChooser(const Program& program, std::span<const Kernel> members,
               std::span<const Body> bodies, const Schedule& joined, const Target& target)
      : program_(program), members_(members), bodies_(bodies), joined_(joined), target_(target) {}

  std::optional<PanelChoice> choose() {
    const std::optional<Panels> panels = find_panels(program_, members_, bodies_, joined_.members);
    if (!panels) return std::nullopt;
    const std::int64_t reserved = reserved_bytes();
    // Whatever stays in memory is worked on by as few threads.
    moved_ = static_cast<double>(panels->bytes());
    Panels some = *panels;
    for (; !some.arrays.empty(); some.arrays.pop_back())
      for (std::int64_t channels = some.channels; channels > 0; --channels) {
        if (some.channels % channels != 0 || !suits(some, channels)) continue;
        for (int blocks = std::max(1, kThreadsPerSm / joined_.threads); blocks > 0; blocks /= 2)
          consider(some, channels, blocks, reserved);
      }
    return std::move(best_);
  }

 private:
  /// Shared memory that members use for other things.
  std::int64_t reserved_bytes() const {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Schedule& schedule = joined_.members[i];
      std::int64_t state = 0;
      for (const BodyReduction& reduction : bodies_[i].reductions)
        state = std::max<std::int64_t>(state, state_bytes(*reduction.node));
      std::int64_t bytes = 0;
      if (members_[i].kind == KernelKind::column_reduce) {
        bytes = 2 * round_up(exchange_places(schedule) * state, 16);
      } else if (schedule.tile > 0) {
        for (const TiledAccess& access :
             all_of(bodies_[i], tiled_accesses(bodies_[i], program_.facts)))
          bytes += tile_bytes(schedule.tile, access.dtype, schedule.vector);
      } else if (members_[i].kind != KernelKind::pointwise) {
        const bool across = schedule.threads_per_row > 32 * schedule.groups || schedule.groups > 1;
        const std::int64_t chunks = std::max<std::int64_t>(schedule.vector / kChunk, 1);
        if (across) bytes = 2 * round_up(schedule.threads * chunks * state, 16);
      }
      most = std::max(most, bytes);
    }
    return round_up(most, 16);
  }

  /// True if blocks can keep to panels of so many channels, and these have whole sectors.
  bool suits(const Panels& panels, std::int64_t channels) const {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (panels.members[i].part == PanelMember::Part::panels &&
          !cut_at_panels(members_[i], panels.members[i].walk, joined_.members[i], channels))
        return false;
    return channels == panels.channels ||
           std::ranges::all_of(panels.arrays, [&](const PanelArray& array) {
             return !array.has_neighbouring_channels() ||
                    channels * size_of(array.access.dtype) % kSector == 0;
           });
  }

  /// True if blocks of those that have channels can keep to those of a round.
  bool suits_rounds(const Panels& panels, std::int64_t channels_per_round) const {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (panels.members[i].part == PanelMember::Part::channels &&
          !cut_at_panels(members_[i], panels.members[i].walk, joined_.members[i],
                         channels_per_round))
        return false;
    return true;
  }

  /// What members lose to threads without work and to banks of shared memory that they all ask, as
  /// if they moved so many bytes more.
  double bytes_of_waiting(const Panels& panels, std::int64_t channels) const {
    double bytes = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (panels.members[i].part != PanelMember::Part::panels) continue;
      const double over =
          threads_over_work(members_[i], panels.members[i].walk, joined_.members[i], channels);
      bytes += (over - 1) * moved_ / kTimesFaster;
      if (members_[i].kind != KernelKind::pointwise || joined_.members[i].tile > 0) continue;
      // Its threads stand along rows.
      for (const PanelArray& array : panels.arrays) {
        if (!array.has_neighbouring_channels()) continue;
        const std::int64_t size = size_of(array.access.dtype);
        const std::int64_t words = std::max<std::int64_t>(channels * size / kBankBytes, 1);
        const auto together = static_cast<double>(std::gcd(kBanks, words));
        bytes += static_cast<double>(panels.elements() * kBankBytes) * together / kBanksFaster;
      }
    }
    return bytes;
  }

  void consider(const Panels& panels, std::int64_t channels, int blocks, std::int64_t reserved) {
    const std::int64_t there =
        std::min(target_.shared_per_sm / blocks - 1024, target_.shared_per_block_opt_in) / 16 * 16;
    const std::int64_t most_slots = (there - reserved) / panels.bytes_of_panel(channels);
    if (there <= reserved || most_slots == 0) return;
    const std::int64_t resident = std::int64_t{target_.sm_count} * blocks;
    const std::int64_t groups = panels.channels / channels;
    std::int64_t per_round = std::min(groups, resident * most_slots / panels.outer);
    if (per_round == 0) return;
    const std::int64_t rounds = (groups + per_round - 1) / per_round;
    per_round = (groups + rounds - 1) / rounds;
    if (rounds > 1 && (!panels.may_have_rounds || !suits_rounds(panels, per_round * channels)))
      return;
    const std::int64_t slots = (per_round * panels.outer + resident - 1) / resident;
    const int barriers = members_.back().phase;
    const double lost =
        static_cast<double>(rounds - 1) * (barriers * target_.barrier_seconds + kFillSeconds);
    const auto bytes = static_cast<double>(panels.bytes_saved());
    const double ahead = kBytesAhead * blocks * joined_.threads;
    const double slower = std::max(static_cast<double>(target_.bytes_in_flight) / ahead - 1, 0.0);
    const double waiting = bytes_of_waiting(panels, channels);
    const double saved = (bytes - slower * moved_ - waiting) / target_.bandwidth - lost;
    if (saved <= 0 || (best_ && best_->seconds_saved >= saved)) return;
    best_ = PanelChoice{.schedule = joined_, .bytes_saved = bytes, .seconds_saved = saved};
    best_->schedule.panels = {.channels = static_cast<int>(channels),
                              .arrays = static_cast<int>(panels.arrays.size()),
                              .per_block = static_cast<int>(slots),
                              .rounds = static_cast<int>(rounds)};
    best_->schedule.blocks_per_sm = blocks;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const PanelMember& member = panels.members[i];
      const bool has_panels = member.part == PanelMember::Part::panels;
      if (!has_panels && (rounds == 1 || member.part != PanelMember::Part::channels)) continue;
      best_->schedule.members[i].cut = cut_at_panels(members_[i], member.walk, joined_.members[i],
                                                     has_panels ? channels : per_round * channels)
                                           .value();
    }
  }

  const Program& program_;
  std::span<const Kernel> members_;
  std::span<const Body> bodies_;
  const Schedule& joined_;
  const Target& target_;
  double moved_ = 0;  ///< bytes of all arrays, once
  std::optional<PanelChoice> best_;
};

}  // namespace

std::optional<PanelChoice> choose_panels(const Program& program, std::span<const Kernel> members,
                                         std::span<const Body> bodies, const Schedule& joined,
                                         const Target& target) {
  return PanelChooser(program, members, bodies, joined, target).choose();
}

}  // namespace sinter
