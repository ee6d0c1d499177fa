#include "compiler/horizontal/local_tiles.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "compiler/body/sub_buffer.h"
#include "compiler/horizontal/memory_units.h"

namespace sinter {

namespace {

class LocalTileFinder {
 public:
  LocalTileFinder(const FusedSections& sections, std::span<const Schedule> schedules)
      : program_(sections.program), sections_(sections), schedules_(schedules) {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const AccessedBuffers& accessed =
          accessed_.emplace_back(accessed_buffers(program_, sections_[i], sections_.bodies[i]));
      all_.insert(accessed.loaded.begin(), accessed.loaded.end());
      all_.insert(accessed.stored.begin(), accessed.stored.end());
    }
  }

  std::optional<ResidentTiles> of_units(std::int64_t units) {
    resident_tiles_ = {.channels = units, .is_local = true, .has_units = true};
    axes_.clear();
    accesses_.clear();
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      axes_.emplace_back();
      accesses_.emplace_back();
      std::optional<UnitVisit> visit =
          visit_in_units(program_, sections_[i], sections_.bodies[i], schedules_[i], units);
      if (!visit) continue;
      axes_[i] = visit->axes;
      accesses_[i] = std::move(visit->accesses);
    }
    return finish();
  }

  /// Local tiles of the shape that saves the most bytes, among all shapes that sections visit.
  std::optional<ResidentTiles> of_rows() {
    std::optional<ResidentTiles> best;
    for (const ResidentTileShape& shape : resident_tile_shapes(sections_, schedules_)) {
      resident_tiles_ = {.outer = shape.shape.outer,
                         .channels = shape.shape.channels,
                         .segments = shape.shape.segments,
                         .is_local = true};
      resident_tiles_.rows = shape.shape.rows;
      axes_ = shape.section_axes;
      accesses_.clear();
      for (std::size_t i = 0; i < sections_.size(); ++i) {
        accesses_.emplace_back();
        if (axes_[i])
          accesses_[i] = accesses_of(program_, sections_[i], sections_.bodies[i], *axes_[i]);
      }
      std::optional<ResidentTiles> next = finish();
      if (next && (!best || next->bytes_saved() > best->bytes_saved())) best = std::move(next);
    }
    return best;
  }

 private:
  int parent(int buffer) const { return parent_or_self(program_, buffer); }
  const Buffer& memory(int buffer) const {
    return program_.buffers[static_cast<std::size_t>(buffer)];
  }

  std::optional<ResidentTiles> finish() {
    find_tile_sections();
    find_arrays();
    if (resident_tiles_.arrays.empty()) return std::nullopt;
    return resident_tiles_;
  }

  /// True if different resident tiles access different elements.
  bool is_of_one_resident_tile(const ResidentTileAccess& access) const {
    return access.is_linear && access.channel_stride != 0 &&
           (access.outer_stride != 0 || resident_tiles_.outer == 1);
  }

  /// True if two sections access `buffer` in the same way, and each tile only its own elements.
  bool is_local(std::size_t one, std::size_t other, int buffer) const {
    std::optional<ResidentTileAccess> first;
    for (const std::size_t section : {one, other})
      for (ResidentTileAccess access : accesses_[section]) {
        if (parent(access.buffer) != buffer) continue;
        const Extent offset = memory(access.buffer).offset;
        if (!offset.is_number() || !is_of_one_resident_tile(access)) return false;
        access.offset += offset.number();
        if (first && !access.has_same_addresses(*first)) return false;
        first = access;
      }
    return true;
  }

  /// Finds the sections that run on local tiles. They depend only on other such sections, and only
  /// within one tile. For the other sections, counts the grid barriers before them.
  void find_tile_sections() {
    resident_tiles_.sections.assign(sections_.size(), {});
    resident_tiles_.barriers_before.assign(sections_.size(), 0);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      int& step = resident_tiles_.barriers_before[i];
      bool is_outside = !axes_[i];
      for (std::size_t j = 0; j < i; ++j)
        for (const int buffer : all_) {
          const bool is_exchanged =
              (accessed_[i].stored.contains(buffer) && accessed_[j].contains(buffer)) ||
              (accessed_[j].stored.contains(buffer) && accessed_[i].contains(buffer));
          // Sections of one phase do not depend on each other.
          if (!is_exchanged || sections_[i].phase == sections_[j].phase) continue;
          const bool stays =
              !is_outside && resident_tiles_.runs_on_tiles(j) && is_local(i, j, buffer);
          if (!stays) step = std::max(step, resident_tiles_.barriers_before[j] + 1);
        }
      if (is_outside || step > 0) continue;
      resident_tiles_.sections[i] = {.role = ResidentTileSection::Role::resident_tiles,
                                     .axes = *axes_[i]};
    }
  }

  /// True if `access` is to a whole dense array that resident tiles can keep.
  bool is_resident_tile_of(const ResidentTileAccess& access) const {
    return is_whole_array(program_, resident_tiles_, access) &&
           (resident_tiles_.has_units || is_resident_tile(resident_tiles_, access));
  }

  void find_arrays() {
    resident_tiles_.arrays.clear();
    std::map<int, ResidentTileArray> arrays;
    std::set<int> unfit;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!resident_tiles_.runs_on_tiles(i)) continue;
      std::set<int> loaded;
      for (const ResidentTileAccess& access : accesses_[i]) {
        const auto [known, is_new] = arrays.try_emplace(
            access.buffer,
            ResidentTileArray{.access = access,
                              .per_channel = resident_tiles_.elements_per_channel(access)});
        ResidentTileArray& array = known->second;
        if (!access.has_same_addresses(array.access)) unfit.insert(access.buffer);
        if (access.is_store) {
          array.is_produced = true;
          if (!writes_all_of(sections_, schedules_[i], accessed_, i, access.buffer))
            unfit.insert(access.buffer);
        } else if (loaded.insert(access.buffer).second) {
          ++array.loading_sections;
        }
      }
    }
    for (auto& [buffer, array] : arrays) {
      array.loaded_elements = loaded_elements(
          sections_, buffer, [&](std::size_t i) { return resident_tiles_.runs_on_tiles(i); });
      const bool saves =
          array.loaded_elements > (array.is_produced ? 0 : resident_tiles_.elements(array));
      if (!saves || unfit.contains(buffer) || !is_resident_tile_of(array.access)) continue;
      // If the launch writes a part of the array, that part is missing when the tile is copied.
      if (!array.is_produced &&
          std::ranges::any_of(accessed_, [&](const AccessedBuffers& accessed) {
            return accessed.stored.contains(parent(buffer));
          }))
        continue;
      bool is_read_outside = false;
      bool is_written_outside = false;
      for (std::size_t i = 0; i < sections_.size(); ++i) {
        if (resident_tiles_.runs_on_tiles(i)) continue;
        is_read_outside |= accessed_[i].loaded.contains(buffer);
        is_written_outside |= accessed_[i].stored.contains(buffer);
      }
      if (is_written_outside) continue;
      array.is_in_memory = !array.is_produced || is_read_outside ||
                           !std::ranges::count(sections_.internal_buffers, buffer);
      resident_tiles_.arrays.push_back(array);
    }
    // If not all arrays fit, those that are read most often come first.
    std::ranges::stable_sort(resident_tiles_.arrays, std::greater<>(),
                             [&](const ResidentTileArray& array) {
                               return array.saved_per_element(resident_tiles_.elements(array));
                             });
  }

  const Program& program_;
  const FusedSections& sections_;
  std::span<const Schedule> schedules_;
  std::vector<AccessedBuffers> accessed_;  ///< by section
  std::set<int> all_;                      ///< buffers that any section accesses
  std::vector<std::optional<TileAxes>> axes_;
  std::vector<std::vector<ResidentTileAccess>> accesses_;  ///< of sections with axes
  ResidentTiles resident_tiles_;
};

}  // namespace

std::optional<ResidentTiles> find_local_tiles(const FusedSections& sections,
                                              std::span<const Schedule> schedules,
                                              std::int64_t units) {
  LocalTileFinder finder(sections, schedules);
  return units > 0 ? finder.of_units(units) : finder.of_rows();
}

ResidentTiles with_aligned_arrays(ResidentTiles resident_tiles, std::int64_t channels) {
  if (resident_tiles.has_units)
    std::erase_if(resident_tiles.arrays, [&](const ResidentTileArray& array) {
      return channels * array.per_channel * size_of(array.access.dtype) % 16 != 0;
    });
  return resident_tiles;
}

}  // namespace sinter
