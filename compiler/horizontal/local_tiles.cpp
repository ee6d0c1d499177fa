#include "compiler/horizontal/local_tiles.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "compiler/body/collapse_axes.h"
#include "compiler/body/footprint.h"
#include "compiler/body/sub_buffer.h"
#include "compiler/body_building/kernel_body.h"
#include "compiler/horizontal/unit_walk.h"

namespace sinter {

namespace {

class LocalTileFinder {
 public:
  LocalTileFinder(const Program& program, std::span<const Kernel> sections,
                  std::span<const Body> bodies, std::span<const int> inner,
                  std::span<const Schedule> schedules)
      : program_(program),
        sections_(sections),
        bodies_(bodies),
        inner_(inner),
        schedules_(schedules) {
    for (std::size_t i = 0; i < sections_.size(); ++i) find_touched(i);
  }

  std::optional<ResidentTiles> of_units(std::int64_t units) {
    resident_tiles_ = {.channels = units, .is_local = true, .has_units = true};
    walks_.clear();
    accesses_.clear();
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      walks_.emplace_back();
      accesses_.emplace_back();
      go_through_units(i, bodies_[i], {}, units);
      const UnitStrips strips = strips_of_units(sections_[i], bodies_[i], schedules_[i], units);
      if (strips.strip > 0)
        go_through_units(i, in_strips(body_of(program_, sections_[i]), strips.outer, strips.strip),
                         strips, units);
    }
    return found();
  }

  /// Of all shapes that sections go through, the one that saves most.
  std::optional<ResidentTiles> of_rows() {
    std::optional<ResidentTiles> best;
    for (const ResidentTileShape& shape :
         resident_tile_shapes(program_, sections_, bodies_, schedules_)) {
      resident_tiles_ = {.outer = shape.shape.outer,
                         .channels = shape.shape.channels,
                         .segments = shape.shape.segments,
                         .is_local = true};
      resident_tiles_.rows = shape.shape.rows;
      walks_ = shape.walks;
      accesses_.clear();
      for (std::size_t i = 0; i < sections_.size(); ++i) {
        accesses_.emplace_back();
        if (walks_[i]) accesses_[i] = accesses_of(program_, sections_[i], bodies_[i], *walks_[i]);
      }
      std::optional<ResidentTiles> next = found();
      if (next && (!best || next->bytes_saved() > best->bytes_saved())) best = std::move(next);
    }
    return best;
  }

 private:
  /// What a section touches, by whole.
  struct Footprint {
    std::set<int> loaded;
    std::set<int> stored;
    bool touches(int buffer) const { return loaded.contains(buffer) || stored.contains(buffer); }
  };

  /// A section does as the order in which most of what it accesses belongs to one unit tells.
  void go_through_units(std::size_t section, const Body& body, UnitStrips strips,
                        std::int64_t units) {
    std::optional<TileWalk> walk =
        walk_of_units(sections_[section], body, schedules_[section], program_.facts, units);
    if (!walk) return;
    std::vector<ResidentTileAccess> accesses =
        accesses_in_units(program_, sections_[section], body, units);
    if (walks_[section] &&
        std::ranges::count(accesses, true, &ResidentTileAccess::is_linear) <=
            std::ranges::count(accesses_[section], true, &ResidentTileAccess::is_linear))
      return;
    walk->strip = strips.strip;
    walk->strip_outer = strips.outer;
    walks_[section] = std::move(walk);
    accesses_[section] = std::move(accesses);
  }

  int whole(int buffer) const { return whole_of(program_, buffer); }
  const Buffer& memory(int buffer) const {
    return program_.buffers[static_cast<std::size_t>(buffer)];
  }

  void find_touched(std::size_t section) {
    Footprint& touched = touched_.emplace_back();
    for (const Value& value : bodies_[section].values)
      if (value.kind == Value::Kind::load)
        touched.loaded.insert(whole(program_.buffer_of.lookup(value.node)));
    for (const Store& store : sections_[section].stores) touched.stored.insert(whole(store.buffer));
    for (const int buffer : touched.loaded) all_.insert(buffer);
    for (const int buffer : touched.stored) all_.insert(buffer);
  }

  std::optional<ResidentTiles> found() {
    divide_work();
    find_arrays();
    if (resident_tiles_.arrays.empty()) return std::nullopt;
    return resident_tiles_;
  }

  bool has_resident_tiles(std::size_t section) const {
    return resident_tiles_.sections[section].part == ResidentTileSection::Part::resident_tiles;
  }

  /// True if each resident tile has elements of its own of `access`.
  bool is_of_one_resident_tile(const ResidentTileAccess& access) const {
    return access.is_linear && access.channel_stride != 0 &&
           (access.outer_stride != 0 || resident_tiles_.outer == 1);
  }

  /// True if what two sections do with a buffer concerns no other resident tiles.
  bool is_local(std::size_t one, std::size_t other, int buffer) const {
    std::optional<ResidentTileAccess> first;
    for (const std::size_t section : {one, other})
      for (ResidentTileAccess access : accesses_[section]) {
        if (whole(access.buffer) != buffer) continue;
        const Extent offset = memory(access.buffer).offset;
        if (!offset.is_number() || !is_of_one_resident_tile(access)) return false;
        access.offset += offset.number();
        if (first && !access.is_alike(*first)) return false;
        first = access;
      }
    return true;
  }

  /// Sections with resident tiles need others with resident tiles only, and nothing of other
  /// resident tiles.
  void divide_work() {
    resident_tiles_.sections.assign(sections_.size(), {});
    resident_tiles_.steps.assign(sections_.size(), 0);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      int& step = resident_tiles_.steps[i];
      bool is_apart = !walks_[i];
      for (std::size_t j = 0; j < i; ++j)
        for (const int buffer : all_) {
          const bool is_exchanged =
              (touched_[i].stored.contains(buffer) && touched_[j].touches(buffer)) ||
              (touched_[j].stored.contains(buffer) && touched_[i].touches(buffer));
          // Sections of a phase need nothing of one another.
          if (!is_exchanged || sections_[i].phase == sections_[j].phase) continue;
          const bool stays = !is_apart && has_resident_tiles(j) && is_local(i, j, buffer);
          if (!stays) step = std::max(step, resident_tiles_.steps[j] + 1);
        }
      if (is_apart || step > 0) continue;
      resident_tiles_.sections[i] = {.part = ResidentTileSection::Part::resident_tiles,
                                     .walk = *walks_[i]};
    }
  }

  /// True for the whole of an array that resident tiles can keep, where nothing but its elements
  /// lies.
  bool is_resident_tile_of(const ResidentTileAccess& access) const {
    const Buffer& array = memory(access.buffer);
    const Extent elements = product(array.node->shape);
    if (array.parent >= 0 || !elements.is_number() || !access.is_linear || access.offset != 0)
      return false;
    const bool is_whole = elements.number() == resident_tiles_.outer * resident_tiles_.channels *
                                                   places_of_channel(access) &&
                          array.elements.is_number() &&
                          array.elements.number() == elements.number();
    return is_whole && (resident_tiles_.has_units || is_resident_tile(resident_tiles_, access));
  }

  std::int64_t places_of_channel(const ResidentTileAccess& access) const {
    return resident_tiles_.has_units ? access.channel_stride
                                     : resident_tiles_.segments * resident_tiles_.rows;
  }

  /// True if `section` writes all of `buffer`, which it does not read, and nobody else writes.
  bool writes_whole(std::size_t section, int buffer) const {
    if (memory(buffer).kind == Buffer::Kind::input || schedules_[section].tile > 0) return false;
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (i != section && touched_[i].stored.contains(whole(buffer))) return false;
    int stores = 0;
    for (const BodyStore& store : bodies_[section].stores) {
      if (sections_[section].stores[static_cast<std::size_t>(store.request)].buffer != buffer)
        continue;
      if (!store.conditions.empty() || store.elements != product(store.node->shape) ||
          store.is_final || store.of_columns)
        return false;
      ++stores;
    }
    return stores == 1 && !touched_[section].loaded.contains(whole(buffer));
  }

  /// What sections with resident tiles load of `buffer`, once for each place of the text.
  std::int64_t loaded_elements(int buffer) const {
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!has_resident_tiles(i)) continue;
      for (const Value& value : bodies_[i].values)
        if (value.kind == Value::Kind::load && program_.buffer_of.lookup(value.node) == buffer)
          elements += evaluate(footprint_of(bodies_[i], value).elements, program_.facts.symbols);
    }
    return elements;
  }

  void find_arrays() {
    resident_tiles_.arrays.clear();
    std::map<int, ResidentTileArray> arrays;
    std::set<int> unfit;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!has_resident_tiles(i)) continue;
      std::set<int> loaded;
      for (const ResidentTileAccess& access : accesses_[i]) {
        const auto [known, is_new] = arrays.try_emplace(
            access.buffer,
            ResidentTileArray{.access = access, .per_channel = places_of_channel(access)});
        ResidentTileArray& array = known->second;
        if (!access.is_alike(array.access)) unfit.insert(access.buffer);
        if (access.is_store) {
          array.is_written = true;
          if (!writes_whole(i, access.buffer)) unfit.insert(access.buffer);
        } else if (loaded.insert(access.buffer).second) {
          ++array.loads;
        }
      }
    }
    for (auto& [buffer, array] : arrays) {
      array.loaded = loaded_elements(buffer);
      const bool saves = array.loaded > (array.is_written ? 0 : resident_tiles_.elements(array));
      if (!saves || unfit.contains(buffer) || !is_resident_tile_of(array.access)) continue;
      // Parts of it that the launch writes are not there yet when the resident tile is copied.
      if (!array.is_written && std::ranges::any_of(touched_, [&](const Footprint& touched) {
            return touched.stored.contains(whole(buffer));
          }))
        continue;
      bool is_read_apart = false;
      bool is_written_apart = false;
      for (std::size_t i = 0; i < sections_.size(); ++i) {
        if (has_resident_tiles(i)) continue;
        is_read_apart |= touched_[i].loaded.contains(buffer);
        is_written_apart |= touched_[i].stored.contains(buffer);
      }
      if (is_written_apart) continue;
      array.is_in_memory =
          !array.is_written || is_read_apart || !std::ranges::count(inner_, buffer);
      resident_tiles_.arrays.push_back(array);
    }
    // Where not all of them find a place, those that are read most often come first.
    std::ranges::stable_sort(
        resident_tiles_.arrays, std::greater<>(), [&](const ResidentTileArray& array) {
          const auto loads = static_cast<double>(array.loaded) /
                             static_cast<double>(resident_tiles_.elements(array));
          return loads + (!array.is_written ? -1 : array.is_in_memory ? 0 : 1);
        });
  }

  const Program& program_;
  std::span<const Kernel> sections_;
  std::span<const Body> bodies_;
  std::span<const int> inner_;
  std::span<const Schedule> schedules_;
  std::vector<Footprint> touched_;  ///< by section
  std::set<int> all_;               ///< wholes
  std::vector<std::optional<TileWalk>> walks_;
  std::vector<std::vector<ResidentTileAccess>> accesses_;  ///< of sections with a walk
  ResidentTiles resident_tiles_;
};

}  // namespace

std::optional<ResidentTiles> find_local_tiles(
    const Program& program, std::span<const Kernel> sections, std::span<const Body> bodies,
    std::span<const int> inner, std::span<const Schedule> schedules, std::int64_t units) {
  LocalTileFinder finder(program, sections, bodies, inner, schedules);
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
