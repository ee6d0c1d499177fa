#include "compiler/tiling/transpose_tiles.h"

#include <algorithm>
#include <map>

#include "compiler/body/access.h"
#include "compiler/body/footprint.h"
#include "compiler/program/op_cost.h"
#include "compiler/target/gpu_constants.h"

namespace sinter {

namespace {

/// True if `at` has a stride of 1 along `axis`, at least within runs of a sector, and a larger
/// stride along the last axis.
bool is_contiguous_along(const Body& body, const TiledAccess& access, int axis,
                         const Facts& facts) {
  // Minimum run of contiguous elements that makes a tile worthwhile.
  const int run = std::min(kSectorBytes / size_of(access.dtype), 16);
  const std::optional<Extent> own = step_along(access.at, axis, run, facts);
  if (!own || !own->is(1)) return false;
  const int last = body.parallel_axes - 1;
  const std::optional<Extent> step = step_along(access.at, last, run, facts);
  return depends_on(access.at, last) && !(step && (step->is(0) || step->is(1)));
}

/// True if neither the address nor a condition depends on data.
bool is_plain(const TiledAccess& access) {
  return !has_indirect(access.at) &&
         std::ranges::none_of(access.conditions, [](const Condition& condition) {
           return has_indirect(condition.at);
         });
}

}  // namespace

bool TiledAccesses::has_load(int value) const { return std::ranges::binary_search(loads, value); }
bool TiledAccesses::has_store(int store) const { return std::ranges::binary_search(stores, store); }

TiledAccesses tiled_accesses(const Body& body, const Facts& facts) {
  if (body.has_reduced_axis || body.scatter || body.scan) return {};
  struct Found {
    TiledAccesses accesses;
    double bytes = 0;
  };
  std::map<int, Found> by_axis;
  const auto add = [&](const TiledAccess& access, Extent elements,
                       std::vector<int> TiledAccesses::*list, std::size_t number) {
    if (!is_plain(access)) return;
    for (int axis = 0; axis + 1 < body.parallel_axes; ++axis) {
      if (!is_contiguous_along(body, access, axis, facts)) continue;
      Found& found = by_axis[axis];
      found.accesses.axis = axis;
      (found.accesses.*list).push_back(static_cast<int>(number));
      found.bytes += bytes_of(elements, access.dtype, facts);
    }
  };
  for (std::size_t i = 0; i < body.values.size(); ++i)
    if (body.values[i].kind == Value::Kind::load)
      add(load_of(body, static_cast<int>(i)), footprint_of(body, body.values[i]).elements,
          &TiledAccesses::loads, i);
  for (std::size_t i = 0; i < body.stores.size(); ++i)
    add(store_of(body, static_cast<int>(i)), stored_elements(body, body.stores[i]),
        &TiledAccesses::stores, i);
  if (by_axis.empty()) return {};
  return std::ranges::max_element(by_axis, {}, [](const auto& entry) { return entry.second.bytes; })
      ->second.accesses;
}

TiledAccess load_of(const Body& body, int value) {
  const Value& load = body.values[static_cast<std::size_t>(value)];
  return {
      .at = load.at, .dtype = load.dtype, .conditions = load.conditions, .aligned = load.aligned};
}

TiledAccess store_of(const Body& body, int store) {
  const BodyStore& to = body.stores[static_cast<std::size_t>(store)];
  return {.at = to.at, .dtype = to.node->dtype, .conditions = to.conditions, .aligned = to.aligned};
}

std::vector<TiledAccess> all_of(const Body& body, const TiledAccesses& tiled) {
  std::vector<TiledAccess> all;
  for (const int value : tiled.loads) all.push_back(load_of(body, value));
  for (const int store : tiled.stores) all.push_back(store_of(body, store));
  return all;
}

int tile_vector(const Body& body, int axis, const TiledAccess& access, const Schedule& schedule,
                const Facts& facts) {
  const int size = size_of(access.dtype);
  // A vector must not cross the end of the axis or exceed the known pointer alignment.
  const std::int64_t limit =
      std::min<std::int64_t>({16 / size, facts.alignment / size, access.aligned,
                              divisor_of(body.space.extent(axis), facts),
                              schedule.tile * schedule.tile / schedule.threads});
  int vector =
      aligned_vector(access.at, axis, static_cast<int>(std::max<std::int64_t>(limit, 1)), facts);
  const auto is_whole = [&](const Condition& condition) {
    return is_same_along(condition, axis, vector, facts);
  };
  while (vector > 1 && !std::ranges::all_of(access.conditions, is_whole)) vector /= 2;
  return vector;
}

int lines_per_padding(int vector) {
  constexpr int kLongestOfGpu = 16;
  return vector > kLongestOfGpu ? vector : std::max(1, vector / 4);
}

std::int64_t tile_bytes(int edge, DType dtype, int vector) {
  const std::int64_t padding =
      std::int64_t{edge} / lines_per_padding(vector) * std::max(kWordBytes, size_of(dtype));
  return (std::int64_t{edge} * edge * size_of(dtype) + padding + 15) / 16 * 16;
}

int lanes_across(int edge, int vector, int bytes_per_element) {
  const int whole_line = 128 / (vector * bytes_per_element);
  return std::min({edge / vector, kWarp, std::max(whole_line, 1)});
}

}  // namespace sinter
