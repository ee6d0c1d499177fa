#include "codegen/kernels/transposed_stores.h"

#include <fmt/format.h>

#include <cstdint>

#include "compiler/tiling/row_store_tiles.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

/// `column` as int, because tiles are indexed with 32 bits.
std::string_view tile_column(const KernelWriter& writer) {
  return writer.index_type() == "int" ? "column" : "static_cast<int>(column)";
}

/// Adjacent threads store vectors that are adjacent in memory.
void write_transposed_store(KernelWriter& writer, const TransposedStore& transposed) {
  const Body& body = writer.body;
  const Schedule& schedule = writer.schedule;
  const BodyStore& store = body.stores[static_cast<std::size_t>(transposed.store)];
  const int vector = row_tile_vector(body, store, schedule, writer.program.facts);
  const int across = schedule.tile / vector;
  const std::string places = writer.text(body.reduced_size() * Extent(across));
  writer.out.block(
      fmt::format("for (int place = static_cast<int>(threadIdx.x); place < {}; place += {})",
                  places, schedule.threads),
      [&] {
        writer.axis_names[body.reduced_axis()] =
            writer.declare_index("column", fmt::format("place / {}", across));
        writer.out.line(fmt::format("const int start = place % {} * {};", across, vector));
        writer.declare_index("row", fmt::format("{} * {} + start", writer.block(), schedule.tile));
        const Extent rows = body.parallel_size();
        const bool always_exists = rows.is_number() && rows.number() % schedule.tile == 0;
        writer.out.block_if(always_exists ? "" : "row < " + writer.text(rows), [&] {
          writer.declare_axes("row", indices_below(body.parallel_axes), "row");
          writer.out.line(writer.counted_store(
              transposed.store, vector,
              fmt::format("{}.take<{}>({}, start)", transposed.tile, vector, tile_column(writer))));
        });
      });
}

}  // namespace

std::vector<TransposedStore> declare_transposed_stores(KernelWriter& writer) {
  std::vector<TransposedStore> stores;
  if (writer.schedule.tile == 0) return stores;
  const Schedule& schedule = writer.schedule;
  for (const int store : transposed_stores(writer.body, writer.program.facts)) {
    const BodyStore& to = writer.body.stores[static_cast<std::size_t>(store)];
    const std::int64_t offset = round_up(writer.source.shared_bytes, 16);
    std::string tile = writer.name_for(to.node, "_tile");
    writer.out.line(fmt::format("const Tile<{}, {}, {}> {}(shared_memory(){});",
                                info(to.node->dtype).c_name, schedule.tile, schedule.vector, tile,
                                offset == 0 ? "" : fmt::format(" + {}", offset)));
    writer.source.shared_bytes = offset + row_tile_bytes(writer.body, to, schedule.tile,
                                                         schedule.vector, writer.program.facts);
    writer.write_to_tile(
        store, fmt::format("{}.spread({}, static_cast<int>(threadIdx.x) / Shape::kThreads, {{}});",
                           tile, tile_column(writer)));
    stores.push_back({.store = store, .tile = std::move(tile)});
  }
  return stores;
}

void write_transposed_stores(KernelWriter& writer, std::span<const TransposedStore> stores) {
  if (stores.empty()) return;
  writer.out.line("block_barrier();");
  for (const TransposedStore& store : stores) write_transposed_store(writer, store);
}

}  // namespace sinter
