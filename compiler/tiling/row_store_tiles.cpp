#include "compiler/tiling/row_store_tiles.h"

#include <algorithm>

#include "compiler/body/access.h"
#include "compiler/program/size_class.h"
#include "compiler/target/gpu_constants.h"

namespace sinter {

namespace {

/// Per block, so that an SM can hold three blocks.
constexpr std::int64_t kMaxRowTileBytes = 64 << 10;

}  // namespace

std::vector<int> transposed_stores(const Body& body, const Facts& facts) {
  std::vector<int> result;
  const bool has_rows_alone = body.has_reduced_axis && !body.scan && !body.scatter &&
                              body.columns.empty() && body.finals.empty();
  if (!has_rows_alone || body.parallel_axes == 0) return result;
  for (std::size_t i = 0; i < body.stores.size(); ++i) {
    const BodyStore& store = body.stores[i];
    if (!store.varies || !store.conditions.empty() || has_indirect(store.at)) continue;
    const int run = kSectorBytes / size_of(store.node->dtype);
    const auto is_contiguous_along = [&](int axis) {
      return step_along(store.at, axis, run, facts) == Extent(1);
    };
    if (is_contiguous_along(body.parallel_axes - 1) && !is_contiguous_along(body.reduced_axis()))
      result.push_back(static_cast<int>(i));
  }
  return result;
}

int rows_of_tiles(const Body& body, const Facts& facts) {
  int rows = 0;
  for (const int i : transposed_stores(body, facts)) {
    const BodyStore& store = body.stores[static_cast<std::size_t>(i)];
    rows = std::max(rows, kSectorBytes / size_of(store.node->dtype));
  }
  return rows;
}

bool fits_tiles(const Body& body, const Facts& facts, int rows, std::int64_t available_bytes) {
  if (class_of_residency(body.reduced_size(), facts).high > kMaxRowTileBytes) return false;
  std::int64_t bytes = 0;
  for (const int i : transposed_stores(body, facts))
    bytes +=
        row_tile_bytes(body, body.stores[static_cast<std::size_t>(i)], rows, kMaxRowVector, facts);
  return bytes <= std::min(kMaxRowTileBytes, available_bytes);
}

int row_tile_vector(const Body& body, const BodyStore& store, const Schedule& schedule,
                    const Facts& facts) {
  const int size = size_of(store.node->dtype);
  const int axis = body.parallel_axes - 1;
  // A vector must not cross the end of the axis or exceed the known pointer alignment.
  const std::int64_t limit =
      std::min<std::int64_t>({16 / size, facts.alignment / size, store.aligned,
                              divisor_of(body.space.extent(axis), facts), schedule.tile});
  return aligned_vector(store.at, axis, static_cast<int>(std::max<std::int64_t>(limit, 1)), facts);
}

std::int64_t row_tile_bytes(const Body& body, const BodyStore& store, int rows, int vector,
                            const Facts& facts) {
  const int size = size_of(store.node->dtype);
  const std::int64_t longest = class_of_residency(body.reduced_size(), facts).high;
  const std::int64_t vectors = (longest + vector - 1) / vector;
  const std::int64_t bytes =
      vectors * (std::int64_t{vector} * rows * size + std::max(kWordBytes, size));
  return (bytes + 15) / 16 * 16;
}

}  // namespace sinter
