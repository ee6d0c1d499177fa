#include "compiler/tiling/vector_width.h"

#include <algorithm>

#include "compiler/body/access.h"

namespace sinter {

VectorAccesses accesses_along(const Body& body, int axis, int width, const Facts& facts,
                              const TiledAccesses& tiled) {
  VectorAccesses result;
  const auto add = [&](const Index& at, DType dtype, int aligned,
                       std::span<const Condition> conditions) {
    const std::optional<Extent> step = step_along(at, axis, width, facts);
    if (step && step->is(0)) return;
    const std::int64_t alignment =
        std::min(facts.alignment, std::int64_t{aligned} * size_of(dtype));
    const bool is_whole = std::ranges::all_of(conditions, [&](const Condition& condition) {
      return is_same_along(condition, axis, width, facts);
    });
    const bool is_wide =
        is_whole && aligned_vector(at, axis, width, facts) == width &&
        alignment >= std::min<std::int64_t>(16, std::int64_t{width} * size_of(dtype));
    if (is_wide) {
      ++result.wide;
      return;
    }
    ++result.narrow;
    const bool has_neighbours = is_whole && step && step->is(1);
    result.narrow_instructions +=
        16 / (has_neighbours
                  ? widest_access(at, dtype, alignment, body.space.extent(axis), axis, width, facts)
                  : 1);
  };
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    if (value.kind == Value::Kind::load && !tiled.has_load(static_cast<int>(i)))
      add(value.at, value.dtype, value.aligned, value.conditions);
  }
  for (std::size_t i = 0; i < body.stores.size(); ++i)
    if (!tiled.has_store(static_cast<int>(i)))
      add(body.stores[i].at, body.stores[i].node->dtype, body.stores[i].aligned, {});
  return result;
}

int useful_vector(const Body& body, int axis, int limit, const Facts& facts,
                  const TiledAccesses& tiled) {
  int best = 1;
  int fewest = 0;
  for (int width = limit; width > 1; width /= 2) {
    const VectorAccesses accesses = accesses_along(body, axis, width, facts, tiled);
    const bool is_useful = accesses.wide > 0 && accesses.wide >= accesses.narrow;
    if (best == 1 ? is_useful : accesses.instructions(width) < fewest) {
      best = width;
      fewest = accesses.instructions(width);
    }
    if (best > 1 && accesses.narrow == 0) break;  // narrower vectors take more instructions
  }
  return best;
}

}  // namespace sinter
