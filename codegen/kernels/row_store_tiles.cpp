#include "codegen/kernels/row_store_tiles.h"

#include <fmt/format.h>

#include "compiler/tiling/row_store_tiles.h"
#include "ir/support/round_up.h"

namespace sinter {

RowStoreTiles::RowStoreTiles(KernelWriter& writer) : writer_(writer) {}

void RowStoreTiles::declare() {
  if (writer_.schedule.tile == 0) return;
  const Schedule& schedule = writer_.schedule;
  for (const int store : transposed_stores(writer_.body, writer_.program.facts)) {
    const BodyStore& to = writer_.body.stores[static_cast<std::size_t>(store)];
    const std::int64_t offset = round_up(writer_.source.shared_bytes, 16);
    std::string name = writer_.name_for(to.node, "_tile");
    writer_.out.line(fmt::format("const Tile<{}, {}, {}> {}(shared_memory(){});",
                                 info(to.node->dtype).c_name, schedule.tile, schedule.vector, name,
                                 offset == 0 ? "" : fmt::format(" + {}", offset)));
    writer_.source.shared_bytes =
        offset + row_tile_bytes(writer_.body, to, schedule.tile, schedule.vector);
    writer_.write_to_tile(
        store, fmt::format("{}.spread({}, static_cast<int>(threadIdx.x) / Shape::kThreads, {{}});",
                           name, column()));
    tiles_.push_back({.store = store, .name = std::move(name)});
  }
}

/// `column` as int, because tiles are indexed with 32 bits.
std::string RowStoreTiles::column() const {
  return writer_.index_type() == "int" ? "column" : "static_cast<int>(column)";
}

void RowStoreTiles::write_stores() {
  if (tiles_.empty()) return;
  writer_.out.line("block_barrier();");
  for (const TileOfRows& tile : tiles_) write_stores(tile);
}

/// Adjacent threads store vectors that are adjacent in memory.
void RowStoreTiles::write_stores(const TileOfRows& tile) {
  const Body& body = writer_.body;
  const Schedule& schedule = writer_.schedule;
  const BodyStore& store = body.stores[static_cast<std::size_t>(tile.store)];
  const int vector = row_tile_vector(body, store, schedule, writer_.program.facts);
  const int across = schedule.tile / vector;
  const std::string places = writer_.text(body.reduced_size() * Extent(across));
  writer_.out.block(
      fmt::format("for (int place = static_cast<int>(threadIdx.x); place < {}; place += {})",
                  places, schedule.threads),
      [&] {
        writer_.axis_names[body.reduced_axis()] =
            writer_.declare_index("column", fmt::format("place / {}", across));
        writer_.out.line(fmt::format("const int start = place % {} * {};", across, vector));
        const auto stored = [&] {
          writer_.declare_axes("row", indices_below(body.parallel_axes), "row");
          writer_.out.line(writer_.counted_store(
              tile.store, vector,
              fmt::format("{}.take<{}>({}, start)", tile.name, vector, column())));
        };
        writer_.declare_index("row",
                              fmt::format("{} * {} + start", writer_.block(), schedule.tile));
        const Extent rows = body.parallel_size();
        if (rows.is_number() && rows.number() % schedule.tile == 0)
          stored();
        else
          writer_.out.block(fmt::format("if (row < {})", writer_.text(rows)), stored);
      });
}

}  // namespace sinter
