#include "compiler/horizontal/resident_tiles.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "compiler/body/sub_buffer.h"
#include "compiler/horizontal/memory_units.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

class ResidentTileFinder {
 public:
  ResidentTileFinder(const FusedSections& sections, std::span<const Schedule> schedules)
      : sections_(sections), schedules_(schedules) {}

  std::optional<ResidentTiles> of_units(std::int64_t units) {
    find_written();
    resident_tiles_ = {.channels = units, .has_units = true};
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      std::optional<UnitVisit> visit = visit_in_units(sections_.program, sections_[i],
                                                      sections_.bodies[i], schedules_[i], units);
      axes_.push_back(visit ? std::optional(visit->axes) : std::nullopt);
      accesses_.push_back(visit ? std::move(visit->accesses) : std::vector<ResidentTileAccess>());
    }
    find_arrays();
    if (resident_tiles_.arrays.empty()) return std::nullopt;
    assign_rounds();
    return resident_tiles_;
  }

  /// Resident tiles of the shape that saves the most bytes, among all shapes that sections visit.
  std::optional<ResidentTiles> of_rows() {
    find_written();
    std::optional<ResidentTiles> best;
    for (const ResidentTileShape& shape : resident_tile_shapes(sections_, schedules_)) {
      set_shape(shape);
      find_arrays();
      if (resident_tiles_.arrays.empty()) continue;
      if (best && best->bytes_saved() >= resident_tiles_.bytes_saved()) continue;
      assign_rounds();
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
    axes_ = shape.section_axes;
    accesses_.assign(sections_.size(), {});
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (axes_[i]) accesses_[i] = accesses_along(i);
  }

  int parent(int buffer) const { return parent_or_self(sections_.program, buffer); }

  /// Finds buffers that one section writes and another one loads, or that two sections write.
  void find_written() {
    std::map<int, std::set<std::size_t>> loaded_by;  // sub-buffers as their parent
    std::map<int, std::set<std::size_t>> stored_by;  // sub-buffers separately
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      accessed_.push_back(accessed_buffers(sections_.program, sections_[i], sections_.bodies[i]));
      for (const int buffer : accessed_[i].loaded) loaded_by[buffer].insert(i);
      for (const Store& store : sections_[i].stores) {
        stored_by[store.buffer].insert(i);
        int& last = last_written_.try_emplace(parent(store.buffer), -1).first->second;
        last = std::max(last, sections_[i].phase);
      }
    }
    for (const auto& [buffer, writers] : stored_by) {
      const std::set<std::size_t>& readers = loaded_by[parent(buffer)];
      if (writers.size() > 1 || readers.size() > 1 || (readers.size() == 1 && readers != writers))
        exchanged_.insert(parent(buffer));
    }
  }

  std::vector<ResidentTileAccess> accesses_along(std::size_t section) const {
    return accesses_of(sections_.program, sections_[section], sections_.bodies[section],
                       *axes_[section]);
  }

  /// The last phase that writes `buffer`, its parent or another sub-buffer of that; -1: none.
  int last_written(int buffer) const {
    const auto found = last_written_.find(parent(buffer));
    return found == last_written_.end() ? -1 : found->second;
  }

  /// Finds arrays that several sections load at the same addresses, or that one section writes and
  /// others load.
  void find_arrays() {
    std::map<int, ResidentTileArray> arrays;
    std::map<int, int> first_loaded;  // by buffer: a phase
    std::set<int> unfit;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!axes_[i]) continue;
      std::set<int> loaded;
      for (const ResidentTileAccess& access : accesses_[i]) {
        const int written = last_written(access.buffer);
        const bool is_produced = access.is_store && may_produce(i, access);
        if (access.is_store && !is_produced) continue;
        const auto [known, is_new] = arrays.try_emplace(
            access.buffer,
            ResidentTileArray{.access = access,
                              .per_channel = resident_tiles_.elements_per_channel(access),
                              .last_written_phase = written,
                              .is_produced = is_produced});
        if (!access.has_same_addresses(known->second.access)) unfit.insert(access.buffer);
        if (is_produced) continue;
        first_loaded.try_emplace(access.buffer, sections_[i].phase);
        const bool is_part = written >= 0 && parent(access.buffer) != access.buffer;
        if (written >= sections_[i].phase || is_part) unfit.insert(access.buffer);
        if (loaded.insert(access.buffer).second) ++known->second.loading_sections;
      }
    }
    for (auto& [buffer, array] : arrays) {
      if (array.loading_sections < (array.is_produced ? 1 : 2) || unfit.contains(buffer) ||
          !(resident_tiles_.has_units
                ? is_whole_array(sections_.program, resident_tiles_, array.access)
                : is_resident_tile(resident_tiles_, array.access)))
        continue;
      array.is_in_memory = !array.is_produced || is_read_outside(buffer);
      array.loaded_elements =
          loaded_elements(sections_, buffer, [&](std::size_t i) { return axes_[i].has_value(); });
      if (array.saved_per_element(resident_tiles_.elements(array)) <= 0) continue;
      resident_tiles_.arrays.push_back(array);
    }
    drop_rewritten_arrays(first_loaded);
    // If not all arrays fit, those that save most come first.
    std::ranges::stable_sort(resident_tiles_.arrays, std::greater<>(),
                             [&](const ResidentTileArray& array) {
                               return array.saved_per_element(resident_tiles_.elements(array));
                             });
  }

  /// True if `section` may write the array of `access` to resident tiles instead of memory.
  bool may_produce(std::size_t section, const ResidentTileAccess& access) const {
    return is_whole_array(sections_.program, resident_tiles_, access) &&
           writes_all_of(sections_, schedules_[section], accessed_, section, access.buffer);
  }

  /// True if anything but the sections on resident tiles reads `buffer`.
  bool is_read_outside(int buffer) const {
    if (std::ranges::count(sections_.internal_buffers, buffer) == 0) return true;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!accessed_[i].loaded.contains(buffer)) continue;
      if (!axes_[i]) return true;
      for (const ResidentTileAccess& access : accesses_[i])  // of a sub-buffer
        if (access.buffer != buffer && parent(access.buffer) == buffer) return true;
    }
    return false;
  }

  /// All resident tiles are copied in one phase: the first that loads one. Drops the arrays that
  /// this phase or a later one writes, unless the section that writes them has resident tiles.
  void drop_rewritten_arrays(const std::map<int, int>& first_loaded) {
    const auto first = [&](const ResidentTileArray& array) {
      return first_loaded.at(array.access.buffer);
    };
    const auto earliest = [&] {
      int phase = std::numeric_limits<int>::max();
      for (const ResidentTileArray& array : resident_tiles_.arrays)
        if (!array.is_produced) phase = std::min(phase, first(array));
      return phase;
    };
    std::erase_if(resident_tiles_.arrays, [phase = earliest()](const ResidentTileArray& array) {
      return !array.is_produced && array.last_written_phase >= phase;
    });
    const int phase = earliest();
    resident_tiles_.copy_phase = phase == std::numeric_limits<int>::max() ? 0 : phase;
  }

  static bool intersect(const std::set<int>& a, const std::set<int>& b) {
    return std::ranges::any_of(a, [&](int buffer) { return b.contains(buffer); });
  }

  /// True if a later phase writes an array that `section` reads. In rounds before the last one,
  /// that write would come too early.
  bool is_overwritten_later(std::size_t section) const {
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (sections_[i].phase > sections_[section].phase &&
          intersect(accessed_[i].stored, accessed_[section].loaded))
        return true;
    return false;
  }

  /// True if `section` may run before all rounds: it reads nothing that rounds exchange, and only
  /// later phases access the buffers that it writes.
  bool is_first(std::size_t section) const {
    std::set<int> of_rounds = exchanged_;
    for (const int buffer : written_first_) of_rounds.erase(buffer);
    if (intersect(accessed_[section].loaded, of_rounds)) return false;
    const std::set<int>& stored = accessed_[section].stored;
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (i != section && sections_[i].phase <= sections_[section].phase &&
          (intersect(accessed_[i].loaded, stored) || intersect(accessed_[i].stored, stored)))
        return false;
    return true;
  }

  /// Assigns each section its part of a round. A round processes some channels, so every exchanged
  /// value must belong to one channel.
  void assign_rounds() {
    assign_roles();
    resident_tiles_.first_repeated_phase = sections_.kernels.back().phase;
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (resident_tiles_.sections[i].role != ResidentTileSection::Role::first)
        resident_tiles_.first_repeated_phase =
            std::min(resident_tiles_.first_repeated_phase, sections_[i].phase);
  }

  void assign_roles() {
    resident_tiles_.may_have_rounds = resident_tiles_.segments == 1 && !resident_tiles_.has_units;
    written_first_.clear();
    std::map<int, ResidentTileAccess> exchanged;
    resident_tiles_.sections.resize(sections_.size());
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      ResidentTileSection& section = resident_tiles_.sections[i];
      if (axes_[i]) {
        section = {.role = ResidentTileSection::Role::resident_tiles, .axes = *axes_[i]};
      } else {
        axes_[i] = channel_axes_of(sections_[i], sections_.bodies[i], schedules_[i]);
        const bool has_channels =
            axes_[i] && axes_[i]->channels == resident_tiles_.channels &&
            (axes_[i]->outer == 1 || axes_[i]->outer == resident_tiles_.outer);
        if (is_first(i)) {
          section.role = ResidentTileSection::Role::first;
          written_first_.insert(accessed_[i].stored.begin(), accessed_[i].stored.end());
          continue;
        }
        if (!has_channels) {
          section.role = ResidentTileSection::Role::last;
          resident_tiles_.may_have_rounds &=
              !intersect(accessed_[i].stored, exchanged_) && !is_overwritten_later(i);
          continue;
        }
        section = {.role = ResidentTileSection::Role::channels, .axes = *axes_[i]};
        accesses_[i] = accesses_along(i);
      }
      for (const ResidentTileAccess& access : accesses_[i]) {
        const int buffer = parent(access.buffer);
        if (!exchanged_.contains(buffer) || written_first_.contains(buffer)) continue;
        ResidentTileAccess in_parent = access;
        const Extent offset =
            sections_.program.buffers[static_cast<std::size_t>(access.buffer)].offset;
        in_parent.is_linear &= offset.is_number();
        if (offset.is_number()) in_parent.offset += offset.number();
        const auto [known, is_new] = exchanged.try_emplace(buffer, in_parent);
        resident_tiles_.may_have_rounds &=
            in_parent.has_same_addresses(known->second) && access.channel_stride != 0;
      }
    }
  }

  const FusedSections& sections_;
  std::span<const Schedule> schedules_;
  std::vector<AccessedBuffers> accessed_;                  ///< by section
  std::vector<std::optional<TileAxes>> axes_;              ///< for the current shape
  std::vector<std::vector<ResidentTileAccess>> accesses_;  ///< of sections with axes
  std::map<int, int> last_written_;                        ///< by buffer: a phase
  std::set<int> exchanged_;                                ///< buffers between sections
  std::set<int> written_first_;  ///< those that are written before all rounds
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
    const std::int64_t moved_anyway = !array.is_produced   ? elements(array)
                                      : array.is_in_memory ? 0
                                                           : -elements(array);
    bytes += (array.loaded_elements - moved_anyway) * size_of(array.access.dtype);
  }
  return bytes;
}

ResidentTileCopy copy_of(const ResidentTiles& resident_tiles, const ResidentTileArray& array,
                         std::int64_t channels, std::int64_t alignment) {
  const ResidentTileAccess& at = array.access;
  ResidentTileCopy copy;
  if (resident_tiles.has_units)
    copy = {.lines = channels, .length = array.per_channel, .stride = at.channel_stride};
  else if (array.has_contiguous_channels())
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
  // A vector must be aligned at the start of every resident tile and of every line.
  const std::int64_t step =
      std::gcd(std::gcd(copy.length, copy.lines == 1 ? 0 : copy.stride),
               std::gcd(at.offset, std::gcd(at.outer_stride, channels * at.channel_stride)));
  const std::int64_t widest = std::min<std::int64_t>(alignment, 16) / size_of(at.dtype);
  while (copy.vector * 2 <= widest && step % (copy.vector * 2) == 0) copy.vector *= 2;
  return copy;
}

std::optional<ResidentTiles> find_resident_tiles(const FusedSections& sections,
                                                 std::span<const Schedule> schedules,
                                                 std::int64_t units) {
  ResidentTileFinder finder(sections, schedules);
  return units > 0 ? finder.of_units(units) : finder.of_rows();
}

}  // namespace sinter
