#include "compiler/horizontal/resident_tiles.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "compiler/body/sub_buffer.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

class PanelFinder {
 public:
  PanelFinder(const Program& program, std::span<const Kernel> members, std::span<const Body> bodies,
              std::span<const Schedule> schedules)
      : program_(program), members_(members), bodies_(bodies), schedules_(schedules) {}

  /// Of all shapes that members go through, the one that saves most.
  std::optional<Panels> find() {
    find_written();
    std::optional<Panels> best;
    for (const PanelShape& shape : panel_shapes(program_, members_, bodies_, schedules_)) {
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
  void set_shape(const PanelShape& shape) {
    panels_ = {.outer = shape.shape.outer,
               .channels = shape.shape.channels,
               .segments = shape.shape.segments};
    panels_.rows = shape.shape.rows;
    walks_ = shape.walks;
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
      for (const Store& store : members_[i].stores) {
        stored_by[store.buffer].insert(i);
        int& last = last_written_.try_emplace(whole(store.buffer), -1).first->second;
        last = std::max(last, members_[i].phase);
      }
    }
    for (const auto& [buffer, writers] : stored_by) {
      const std::set<std::size_t>& readers = loaded_by[whole(buffer)];
      if (writers.size() > 1 || readers.size() > 1 || (readers.size() == 1 && readers != writers))
        exchanged_.insert(whole(buffer));
    }
  }

  std::vector<PanelAccess> accesses(std::size_t member) const {
    return accesses_of(program_, members_[member], bodies_[member], *walks_[member]);
  }

  /// The last phase that writes `buffer` or a part of it; -1: none does.
  int last_written(int buffer) const {
    const auto found = last_written_.find(whole(buffer));
    return found == last_written_.end() ? -1 : found->second;
  }

  /// Arrays that several members load, all of them alike.
  void find_arrays() {
    std::map<int, PanelArray> arrays;
    std::map<int, int> first_loaded;  // phases
    std::set<int> unfit;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!walks_[i]) continue;
      std::set<int> loaded;
      for (const PanelAccess& access : accesses(i)) {
        if (access.is_store) continue;
        const int written = last_written(access.buffer);
        const auto [known, is_new] = arrays.try_emplace(
            access.buffer, PanelArray{.access = access,
                                      .per_channel = panels_.segments * panels_.rows,
                                      .written = written});
        first_loaded.try_emplace(access.buffer, members_[i].phase);
        const bool is_part = written >= 0 && whole(access.buffer) != access.buffer;
        if (!access.is_alike(known->second.access) || written >= members_[i].phase || is_part)
          unfit.insert(access.buffer);
        if (loaded.insert(access.buffer).second) ++known->second.loads;
      }
    }
    for (auto& [buffer, array] : arrays) {
      if (array.loads < 2 || unfit.contains(buffer) || !is_panel(panels_, array.access)) continue;
      array.loaded = panels_.elements(array) * array.loads;
      panels_.arrays.push_back(array);
    }
    keep_from_one_phase_on(first_loaded);
    // Where not all of them find a place, those that are read most often come first.
    std::ranges::stable_sort(panels_.arrays, std::greater<>(), &PanelArray::loads);
  }

  /// All panels are copied in one phase. What earlier ones write is kept where none of these needs
  /// a panel.
  void keep_from_one_phase_on(const std::map<int, int>& first_loaded) {
    const auto first = [&](const PanelArray& array) {
      return first_loaded.at(array.access.buffer);
    };
    const auto earliest = [&] {
      int phase = std::numeric_limits<int>::max();
      for (const PanelArray& array : panels_.arrays) phase = std::min(phase, first(array));
      return phase;
    };
    std::erase_if(panels_.arrays,
                  [phase = earliest()](const PanelArray& array) { return array.written >= phase; });
    panels_.first_phase = panels_.arrays.empty() ? 0 : earliest();
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

  /// True if a later phase writes what `member` reads, which the rounds before the last one would
  /// do too early.
  bool is_overwritten_later(std::size_t member) const {
    std::set<int> loads;
    for (const Value& value : bodies_[member].values)
      if (value.kind == Value::Kind::load)
        loads.insert(whole(program_.buffer_of.lookup(value.node)));
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (members_[i].phase > members_[member].phase && touches(i, loads, true)) return true;
    return false;
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
    give_out_parts();
    panels_.first_of_rounds = members_.back().phase;
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (panels_.members[i].part != PanelMember::Part::first)
        panels_.first_of_rounds = std::min(panels_.first_of_rounds, members_[i].phase);
  }

  void give_out_parts() {
    panels_.may_have_rounds = panels_.segments == 1;
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
          panels_.may_have_rounds &= !touches(i, exchanged_, true) && !is_overwritten_later(i);
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
  std::vector<std::optional<PanelWalk>> walks_;  ///< those of the shape that is looked at
  std::map<int, int> last_written_;              ///< phases, of wholes
  std::set<int> exchanged_;                      ///< wholes
  std::set<int> written_first_;                  ///< likewise, before any round
  Panels panels_;
};

}  // namespace

std::int64_t Panels::bytes_of_panel(std::int64_t panel_channels) const {
  std::int64_t bytes = 0;
  for (const PanelArray& array : arrays)
    bytes += round_up(panel_channels * array.per_channel * size_of(array.access.dtype), 16);
  return bytes;
}

std::int64_t Panels::bytes() const {
  std::int64_t bytes = 0;
  for (const PanelArray& array : arrays) bytes += elements(array) * size_of(array.access.dtype);
  return bytes;
}

std::int64_t Panels::bytes_saved() const {
  std::int64_t bytes = 0;
  for (const PanelArray& array : arrays) {
    const std::int64_t moved_anyway = !array.is_written    ? elements(array)
                                      : array.is_in_memory ? 0
                                                           : -elements(array);
    bytes += (array.loaded - moved_anyway) * size_of(array.access.dtype);
  }
  return bytes;
}

PanelCopy copy_of(const Panels& panels, const PanelArray& array, std::int64_t channels,
                  std::int64_t alignment) {
  const PanelAccess& at = array.access;
  PanelCopy copy;
  if (panels.has_units)
    copy = {.lines = channels, .length = array.per_channel, .stride = at.channel_stride};
  else if (array.has_neighbouring_channels())
    copy = {.lines = panels.segments * panels.rows, .length = channels, .stride = at.row_stride};
  else if (panels.segments > 1)
    copy = {
        .lines = panels.segments, .length = channels * panels.rows, .stride = at.segment_stride};
  else
    copy = {.lines = channels, .length = panels.rows, .stride = at.channel_stride};
  if (copy.stride == copy.length) {
    copy.length *= copy.lines;
    copy.lines = 1;
  }
  // A vector must be aligned wherever a panel or a line begins.
  const std::int64_t step =
      std::gcd(std::gcd(copy.length, copy.lines == 1 ? 0 : copy.stride),
               std::gcd(at.offset, std::gcd(at.outer_stride, channels * at.channel_stride)));
  const std::int64_t widest = std::min<std::int64_t>(alignment, 16) / size_of(at.dtype);
  while (copy.vector * 2 <= widest && step % (copy.vector * 2) == 0) copy.vector *= 2;
  return copy;
}

std::optional<Panels> find_panels(const Program& program, std::span<const Kernel> members,
                                  std::span<const Body> bodies,
                                  std::span<const Schedule> schedules) {
  return PanelFinder(program, members, bodies, schedules).find();
}

}  // namespace sinter
