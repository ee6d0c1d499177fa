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

class ResidentTileFinder {
 public:
  ResidentTileFinder(const Program& program, std::span<const Kernel> sections,
                     std::span<const Body> bodies, std::span<const Schedule> schedules)
      : program_(program), sections_(sections), bodies_(bodies), schedules_(schedules) {}

  /// Of all shapes that sections go through, the one that saves most.
  std::optional<ResidentTiles> find() {
    find_written();
    std::optional<ResidentTiles> best;
    for (const ResidentTileShape& shape :
         resident_tile_shapes(program_, sections_, bodies_, schedules_)) {
      set_shape(shape);
      find_arrays();
      if (resident_tiles_.arrays.empty()) continue;
      if (best && best->bytes_saved() >= resident_tiles_.bytes_saved()) continue;
      divide_work();
      best = resident_tiles_;
    }
    return best;
  }

 private:
  void set_shape(const ResidentTileShape& shape) {
    resident_tiles_ = {.outer = shape.shape.outer,
                       .channels = shape.shape.channels,
                       .segments = shape.shape.segments};
    resident_tiles_.rows = shape.shape.rows;
    walks_ = shape.walks;
  }

  int whole(int buffer) const { return whole_of(program_, buffer); }

  /// What is written by one section and loaded by another, or written by two.
  void find_written() {
    std::map<int, std::set<std::size_t>> loaded_by;  // wholes
    std::map<int, std::set<std::size_t>> stored_by;  // parts for themselves
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      for (const Value& value : bodies_[i].values)
        if (value.kind == Value::Kind::load)
          loaded_by[whole(program_.buffer_of.lookup(value.node))].insert(i);
      for (const Store& store : sections_[i].stores) {
        stored_by[store.buffer].insert(i);
        int& last = last_written_.try_emplace(whole(store.buffer), -1).first->second;
        last = std::max(last, sections_[i].phase);
      }
    }
    for (const auto& [buffer, writers] : stored_by) {
      const std::set<std::size_t>& readers = loaded_by[whole(buffer)];
      if (writers.size() > 1 || readers.size() > 1 || (readers.size() == 1 && readers != writers))
        exchanged_.insert(whole(buffer));
    }
  }

  std::vector<ResidentTileAccess> accesses(std::size_t section) const {
    return accesses_of(program_, sections_[section], bodies_[section], *walks_[section]);
  }

  /// The last phase that writes `buffer` or a part of it; -1: none does.
  int last_written(int buffer) const {
    const auto found = last_written_.find(whole(buffer));
    return found == last_written_.end() ? -1 : found->second;
  }

  /// Arrays that several sections load, all of them alike.
  void find_arrays() {
    std::map<int, ResidentTileArray> arrays;
    std::map<int, int> first_loaded;  // phases
    std::set<int> unfit;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!walks_[i]) continue;
      std::set<int> loaded;
      for (const ResidentTileAccess& access : accesses(i)) {
        if (access.is_store) continue;
        const int written = last_written(access.buffer);
        const auto [known, is_new] = arrays.try_emplace(
            access.buffer,
            ResidentTileArray{.access = access,
                              .per_channel = resident_tiles_.segments * resident_tiles_.rows,
                              .written = written});
        first_loaded.try_emplace(access.buffer, sections_[i].phase);
        const bool is_part = written >= 0 && whole(access.buffer) != access.buffer;
        if (!access.is_alike(known->second.access) || written >= sections_[i].phase || is_part)
          unfit.insert(access.buffer);
        if (loaded.insert(access.buffer).second) ++known->second.loads;
      }
    }
    for (auto& [buffer, array] : arrays) {
      if (array.loads < 2 || unfit.contains(buffer) ||
          !is_resident_tile(resident_tiles_, array.access))
        continue;
      array.loaded = resident_tiles_.elements(array) * array.loads;
      resident_tiles_.arrays.push_back(array);
    }
    keep_from_one_phase_on(first_loaded);
    // Where not all of them find a place, those that are read most often come first.
    std::ranges::stable_sort(resident_tiles_.arrays, std::greater<>(), &ResidentTileArray::loads);
  }

  /// All resident tiles are copied in one phase. What earlier ones write is kept where none of
  /// these needs a resident tile.
  void keep_from_one_phase_on(const std::map<int, int>& first_loaded) {
    const auto first = [&](const ResidentTileArray& array) {
      return first_loaded.at(array.access.buffer);
    };
    const auto earliest = [&] {
      int phase = std::numeric_limits<int>::max();
      for (const ResidentTileArray& array : resident_tiles_.arrays)
        phase = std::min(phase, first(array));
      return phase;
    };
    std::erase_if(resident_tiles_.arrays, [phase = earliest()](const ResidentTileArray& array) {
      return array.written >= phase;
    });
    resident_tiles_.first_phase = resident_tiles_.arrays.empty() ? 0 : earliest();
  }

  bool touches(std::size_t section, const std::set<int>& wholes, bool stores) const {
    if (stores && std::ranges::any_of(sections_[section].stores, [&](const Store& store) {
          return wholes.contains(whole(store.buffer));
        }))
      return true;
    return !stores && std::ranges::any_of(bodies_[section].values, [&](const Value& value) {
      return value.kind == Value::Kind::load &&
             wholes.contains(whole(program_.buffer_of.lookup(value.node)));
    });
  }

  /// True if a later phase writes what `section` reads, which the rounds before the last one would
  /// do too early.
  bool is_overwritten_later(std::size_t section) const {
    std::set<int> loads;
    for (const Value& value : bodies_[section].values)
      if (value.kind == Value::Kind::load)
        loads.insert(whole(program_.buffer_of.lookup(value.node)));
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (sections_[i].phase > sections_[section].phase && touches(i, loads, true)) return true;
    return false;
  }

  /// True if `section` may be done with before any round: it needs nothing of them, and what it
  /// writes is read behind it only.
  bool is_first(std::size_t section) const {
    std::set<int> of_rounds = exchanged_;
    for (const int buffer : written_first_) of_rounds.erase(buffer);
    if (touches(section, of_rounds, false)) return false;
    std::set<int> stores;
    for (const Store& store : sections_[section].stores) stores.insert(whole(store.buffer));
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (i != section && sections_[i].phase <= sections_[section].phase &&
          (touches(i, stores, false) || touches(i, stores, true)))
        return false;
    return true;
  }

  /// Who does what in a round. Rounds are for channels: what is exchanged must belong to one.
  void divide_work() {
    give_out_parts();
    resident_tiles_.first_of_rounds = sections_.back().phase;
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (resident_tiles_.sections[i].part != ResidentTileSection::Part::first)
        resident_tiles_.first_of_rounds =
            std::min(resident_tiles_.first_of_rounds, sections_[i].phase);
  }

  void give_out_parts() {
    resident_tiles_.may_have_rounds = resident_tiles_.segments == 1;
    written_first_.clear();
    std::map<int, ResidentTileAccess> exchanged;
    resident_tiles_.sections.resize(sections_.size());
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      ResidentTileSection& section = resident_tiles_.sections[i];
      if (walks_[i]) {
        section = {.part = ResidentTileSection::Part::resident_tiles, .walk = *walks_[i]};
      } else {
        walks_[i] = walk_of_channels(sections_[i], bodies_[i], schedules_[i]);
        const bool has_channels =
            walks_[i] && walks_[i]->channels == resident_tiles_.channels &&
            (walks_[i]->outer == 1 || walks_[i]->outer == resident_tiles_.outer);
        if (is_first(i)) {
          section.part = ResidentTileSection::Part::first;
          for (const Store& store : sections_[i].stores) written_first_.insert(whole(store.buffer));
          continue;
        }
        if (!has_channels) {
          section.part = ResidentTileSection::Part::last;
          resident_tiles_.may_have_rounds &=
              !touches(i, exchanged_, true) && !is_overwritten_later(i);
          continue;
        }
        section = {.part = ResidentTileSection::Part::channels, .walk = *walks_[i]};
      }
      for (const ResidentTileAccess& access : accesses(i)) {
        const int buffer = whole(access.buffer);
        if (!exchanged_.contains(buffer) || written_first_.contains(buffer)) continue;
        ResidentTileAccess in_whole = access;
        const Extent offset = program_.buffers[static_cast<std::size_t>(access.buffer)].offset;
        in_whole.is_linear &= offset.is_number();
        if (offset.is_number()) in_whole.offset += offset.number();
        const auto [known, is_new] = exchanged.try_emplace(buffer, in_whole);
        resident_tiles_.may_have_rounds &=
            in_whole.is_alike(known->second) && access.channel_stride != 0;
      }
    }
  }

  const Program& program_;
  std::span<const Kernel> sections_;
  std::span<const Body> bodies_;
  std::span<const Schedule> schedules_;
  std::vector<std::optional<TileWalk>> walks_;  ///< those of the shape that is looked at
  std::map<int, int> last_written_;             ///< phases, of wholes
  std::set<int> exchanged_;                     ///< wholes
  std::set<int> written_first_;                 ///< likewise, before any round
  ResidentTiles resident_tiles_;
};

}  // namespace

std::int64_t ResidentTiles::bytes_of_resident_tile(std::int64_t resident_tile_channels) const {
  std::int64_t bytes = 0;
  for (const ResidentTileArray& array : arrays)
    bytes += round_up(resident_tile_channels * array.per_channel * size_of(array.access.dtype), 16);
  return bytes;
}

std::int64_t ResidentTiles::bytes() const {
  std::int64_t bytes = 0;
  for (const ResidentTileArray& array : arrays)
    bytes += elements(array) * size_of(array.access.dtype);
  return bytes;
}

std::int64_t ResidentTiles::bytes_saved() const {
  std::int64_t bytes = 0;
  for (const ResidentTileArray& array : arrays) {
    const std::int64_t moved_anyway = !array.is_written    ? elements(array)
                                      : array.is_in_memory ? 0
                                                           : -elements(array);
    bytes += (array.loaded - moved_anyway) * size_of(array.access.dtype);
  }
  return bytes;
}

ResidentTileCopy copy_of(const ResidentTiles& resident_tiles, const ResidentTileArray& array,
                         std::int64_t channels, std::int64_t alignment) {
  const ResidentTileAccess& at = array.access;
  ResidentTileCopy copy;
  if (resident_tiles.has_units)
    copy = {.lines = channels, .length = array.per_channel, .stride = at.channel_stride};
  else if (array.has_neighbouring_channels())
    copy = {.lines = resident_tiles.segments * resident_tiles.rows,
            .length = channels,
            .stride = at.row_stride};
  else if (resident_tiles.segments > 1)
    copy = {.lines = resident_tiles.segments,
            .length = channels * resident_tiles.rows,
            .stride = at.segment_stride};
  else
    copy = {.lines = channels, .length = resident_tiles.rows, .stride = at.channel_stride};
  if (copy.stride == copy.length) {
    copy.length *= copy.lines;
    copy.lines = 1;
  }
  // A vector must be aligned wherever a resident tile or a line begins.
  const std::int64_t step =
      std::gcd(std::gcd(copy.length, copy.lines == 1 ? 0 : copy.stride),
               std::gcd(at.offset, std::gcd(at.outer_stride, channels * at.channel_stride)));
  const std::int64_t widest = std::min<std::int64_t>(alignment, 16) / size_of(at.dtype);
  while (copy.vector * 2 <= widest && step % (copy.vector * 2) == 0) copy.vector *= 2;
  return copy;
}

std::optional<ResidentTiles> find_resident_tiles(const Program& program,
                                                 std::span<const Kernel> sections,
                                                 std::span<const Body> bodies,
                                                 std::span<const Schedule> schedules) {
  return ResidentTileFinder(program, sections, bodies, schedules).find();
}

}  // namespace sinter
