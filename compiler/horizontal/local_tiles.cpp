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

class LocalPanelFinder {
 public:
  LocalPanelFinder(const Program& program, std::span<const Kernel> members,
                   std::span<const Body> bodies, std::span<const int> inner,
                   std::span<const Schedule> schedules)
      : program_(program),
        members_(members),
        bodies_(bodies),
        inner_(inner),
        schedules_(schedules) {
    for (std::size_t i = 0; i < members_.size(); ++i) find_touched(i);
  }

  std::optional<Panels> of_units(std::int64_t units) {
    panels_ = {.channels = units, .is_local = true, .has_units = true};
    walks_.clear();
    accesses_.clear();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      walks_.emplace_back();
      accesses_.emplace_back();
      go_through_units(i, bodies_[i], {}, units);
      const UnitStrips strips = strips_of_units(members_[i], bodies_[i], schedules_[i], units);
      if (strips.strip > 0)
        go_through_units(i, in_strips(body_of(program_, members_[i]), strips.outer, strips.strip),
                         strips, units);
    }
    return found();
  }

  /// Of all shapes that members go through, the one that saves most.
  std::optional<Panels> of_rows() {
    std::optional<Panels> best;
    for (const PanelShape& shape : panel_shapes(program_, members_, bodies_, schedules_)) {
      panels_ = {.outer = shape.shape.outer,
                 .channels = shape.shape.channels,
                 .segments = shape.shape.segments,
                 .is_local = true};
      panels_.rows = shape.shape.rows;
      walks_ = shape.walks;
      accesses_.clear();
      for (std::size_t i = 0; i < members_.size(); ++i) {
        accesses_.emplace_back();
        if (walks_[i]) accesses_[i] = accesses_of(program_, members_[i], bodies_[i], *walks_[i]);
      }
      std::optional<Panels> next = found();
      if (next && (!best || next->bytes_saved() > best->bytes_saved())) best = std::move(next);
    }
    return best;
  }

 private:
  /// What a member touches, by whole.
  struct Touched {
    std::set<int> loaded;
    std::set<int> stored;
    bool touches(int buffer) const { return loaded.contains(buffer) || stored.contains(buffer); }
  };

  /// A member does as the order in which most of what it accesses belongs to one unit tells.
  void go_through_units(std::size_t member, const Body& body, UnitStrips strips,
                        std::int64_t units) {
    std::optional<PanelWalk> walk =
        walk_of_units(members_[member], body, schedules_[member], program_.facts, units);
    if (!walk) return;
    std::vector<PanelAccess> accesses = accesses_in_units(program_, members_[member], body, units);
    if (walks_[member] && std::ranges::count(accesses, true, &PanelAccess::is_linear) <=
                              std::ranges::count(accesses_[member], true, &PanelAccess::is_linear))
      return;
    walk->strip = strips.strip;
    walk->strip_outer = strips.outer;
    walks_[member] = std::move(walk);
    accesses_[member] = std::move(accesses);
  }

  int whole(int buffer) const { return whole_of(program_, buffer); }
  const Buffer& memory(int buffer) const {
    return program_.buffers[static_cast<std::size_t>(buffer)];
  }

  void find_touched(std::size_t member) {
    Touched& touched = touched_.emplace_back();
    for (const Value& value : bodies_[member].values)
      if (value.kind == Value::Kind::load)
        touched.loaded.insert(whole(program_.buffer_of.lookup(value.node)));
    for (const Store& store : members_[member].stores) touched.stored.insert(whole(store.buffer));
    for (const int buffer : touched.loaded) all_.insert(buffer);
    for (const int buffer : touched.stored) all_.insert(buffer);
  }

  std::optional<Panels> found() {
    divide_work();
    find_arrays();
    if (panels_.arrays.empty()) return std::nullopt;
    return panels_;
  }

  bool has_panels(std::size_t member) const {
    return panels_.members[member].part == PanelMember::Part::panels;
  }

  /// True if each panel has elements of its own of `access`.
  bool is_of_one_panel(const PanelAccess& access) const {
    return access.is_linear && access.channel_stride != 0 &&
           (access.outer_stride != 0 || panels_.outer == 1);
  }

  /// True if what two members do with a buffer concerns no other panels.
  bool is_local(std::size_t one, std::size_t other, int buffer) const {
    std::optional<PanelAccess> first;
    for (const std::size_t member : {one, other})
      for (PanelAccess access : accesses_[member]) {
        if (whole(access.buffer) != buffer) continue;
        const Extent offset = memory(access.buffer).offset;
        if (!offset.is_number() || !is_of_one_panel(access)) return false;
        access.offset += offset.number();
        if (first && !access.is_alike(*first)) return false;
        first = access;
      }
    return true;
  }

  /// Members with panels need others with panels only, and nothing of other panels.
  void divide_work() {
    panels_.members.assign(members_.size(), {});
    panels_.steps.assign(members_.size(), 0);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      int& step = panels_.steps[i];
      bool is_apart = !walks_[i];
      for (std::size_t j = 0; j < i; ++j)
        for (const int buffer : all_) {
          const bool is_exchanged =
              (touched_[i].stored.contains(buffer) && touched_[j].touches(buffer)) ||
              (touched_[j].stored.contains(buffer) && touched_[i].touches(buffer));
          // Members of a phase need nothing of one another.
          if (!is_exchanged || members_[i].phase == members_[j].phase) continue;
          const bool stays = !is_apart && has_panels(j) && is_local(i, j, buffer);
          if (!stays) step = std::max(step, panels_.steps[j] + 1);
        }
      if (is_apart || step > 0) continue;
      panels_.members[i] = {.part = PanelMember::Part::panels, .walk = *walks_[i]};
    }
  }

  /// True for the whole of an array that panels can keep, where nothing but its elements lies.
  bool is_panel_of(const PanelAccess& access) const {
    const Buffer& array = memory(access.buffer);
    const Extent elements = product(array.node->shape);
    if (array.whole >= 0 || !elements.is_number() || !access.is_linear || access.offset != 0)
      return false;
    const bool is_whole =
        elements.number() == panels_.outer * panels_.channels * places_of_channel(access) &&
        array.elements.is_number() && array.elements.number() == elements.number();
    return is_whole && (panels_.has_units || is_panel(panels_, access));
  }

  std::int64_t places_of_channel(const PanelAccess& access) const {
    return panels_.has_units ? access.channel_stride : panels_.segments * panels_.rows;
  }

  /// True if `member` writes all of `buffer`, which it does not read, and nobody else writes.
  bool writes_whole(std::size_t member, int buffer) const {
    if (memory(buffer).kind == Buffer::Kind::input || schedules_[member].tile > 0) return false;
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (i != member && touched_[i].stored.contains(whole(buffer))) return false;
    int stores = 0;
    for (const BodyStore& store : bodies_[member].stores) {
      if (members_[member].stores[static_cast<std::size_t>(store.request)].buffer != buffer)
        continue;
      if (!store.conditions.empty() || store.elements != product(store.node->shape) ||
          store.is_final || store.of_columns)
        return false;
      ++stores;
    }
    return stores == 1 && !touched_[member].loaded.contains(whole(buffer));
  }

  /// What members with panels load of `buffer`, once for each place of the text.
  std::int64_t loaded_elements(int buffer) const {
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!has_panels(i)) continue;
      for (const Value& value : bodies_[i].values)
        if (value.kind == Value::Kind::load && program_.buffer_of.lookup(value.node) == buffer)
          elements +=
              evaluate(touched_elements(bodies_[i], value).elements, program_.facts.symbols);
    }
    return elements;
  }

  void find_arrays() {
    panels_.arrays.clear();
    std::map<int, PanelArray> arrays;
    std::set<int> unfit;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!has_panels(i)) continue;
      std::set<int> loaded;
      for (const PanelAccess& access : accesses_[i]) {
        const auto [known, is_new] = arrays.try_emplace(
            access.buffer, PanelArray{.access = access, .per_channel = places_of_channel(access)});
        PanelArray& array = known->second;
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
      const bool saves = array.loaded > (array.is_written ? 0 : panels_.elements(array));
      if (!saves || unfit.contains(buffer) || !is_panel_of(array.access)) continue;
      // Parts of it that the launch writes are not there yet when the panel is copied.
      if (!array.is_written && std::ranges::any_of(touched_, [&](const Touched& touched) {
            return touched.stored.contains(whole(buffer));
          }))
        continue;
      bool is_read_apart = false;
      bool is_written_apart = false;
      for (std::size_t i = 0; i < members_.size(); ++i) {
        if (has_panels(i)) continue;
        is_read_apart |= touched_[i].loaded.contains(buffer);
        is_written_apart |= touched_[i].stored.contains(buffer);
      }
      if (is_written_apart) continue;
      array.is_in_memory =
          !array.is_written || is_read_apart || !std::ranges::count(inner_, buffer);
      panels_.arrays.push_back(array);
    }
    // Where not all of them find a place, those that are read most often come first.
    std::ranges::stable_sort(panels_.arrays, std::greater<>(), [&](const PanelArray& array) {
      const auto loads =
          static_cast<double>(array.loaded) / static_cast<double>(panels_.elements(array));
      return loads + (!array.is_written ? -1 : array.is_in_memory ? 0 : 1);
    });
  }

  const Program& program_;
  std::span<const Kernel> members_;
  std::span<const Body> bodies_;
  std::span<const int> inner_;
  std::span<const Schedule> schedules_;
  std::vector<Touched> touched_;  ///< by member
  std::set<int> all_;             ///< wholes
  std::vector<std::optional<PanelWalk>> walks_;
  std::vector<std::vector<PanelAccess>> accesses_;  ///< of members with a walk
  Panels panels_;
};

}  // namespace

std::optional<Panels> find_local_panels(const Program& program, std::span<const Kernel> members,
                                        std::span<const Body> bodies, std::span<const int> inner,
                                        std::span<const Schedule> schedules, std::int64_t units) {
  LocalPanelFinder finder(program, members, bodies, inner, schedules);
  return units > 0 ? finder.of_units(units) : finder.of_rows();
}

Panels with_aligned_arrays(Panels panels, std::int64_t channels) {
  if (panels.has_units)
    std::erase_if(panels.arrays, [&](const PanelArray& array) {
      return channels * array.per_channel * size_of(array.access.dtype) % 16 != 0;
    });
  return panels;
}

}  // namespace sinter
