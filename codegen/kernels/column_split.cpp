#include "codegen/kernels/column_split.h"

#include <fmt/format.h>

#include "compiler/program/op_cost.h"
#include "compiler/tiling/column_split.h"

namespace sinter {

void SplitColumns::declare() {
  writer_.source.grid = tiles_ * Extent(writer_.schedule.splits);
  writer_.source.tickets = tiles_;
  writer_.add_scratch_arguments();
  // Blocks that run together read neighbouring columns of the same rows.
  const std::string tiles = atomic(writer_.text(tiles_));
  writer_.declare_index("column_tile",
                        tiles_.is(1) ? "0" : fmt::format("{} % {}", writer_.block(), tiles));
  writer_.declare_index(
      "split", tiles_.is(1) ? writer_.block() : fmt::format("{} / {}", writer_.block(), tiles));
}

void SplitColumns::write_join(const std::vector<const Node*>& reductions,
                              const std::vector<std::string>& states) {
  const int splits = writer_.schedule.splits;
  const std::int64_t of_tile = columns_of(writer_.schedule) * splits;
  Traffic& traffic = writer_.source.traffic;
  Extent offset = 0;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    places.push_back(writer_.name_for(reductions[i], "_splits"));
    writer_.out.line(fmt::format("{0}* {1} = reinterpret_cast<{0}*>(workspace{2}){3};",
                                 writer_.state_type(*reductions[i]), places[i],
                                 offset.is(0) ? "" : " + " + writer_.text(offset),
                                 tiles_.is(1) ? "" : fmt::format(" + column_tile * {}", of_tile)));
    writer_.out.line(fmt::format("store_split<Shape>({}, split, {});", places[i], states[i]));
    const Extent bytes = tiles_ * Extent(of_tile * state_bytes(*reductions[i]));
    // Each array of states starts on a boundary that any state is aligned to.
    offset = offset + ceil_div(bytes, 16) * Extent(16);
    traffic.bytes_read = traffic.bytes_read + bytes;
    traffic.bytes_written = traffic.bytes_written + bytes;
  }
  writer_.source.workspace_bytes = offset;
  writer_.out.line(fmt::format("if (!last_block(tickets{}, {})) return;",
                               tiles_.is(1) ? "" : " + column_tile", splits));
  for (std::size_t i = 0; i < reductions.size(); ++i)
    writer_.out.line(
        fmt::format("join_splits<{}, Shape>({}, {}, exchange);", splits, places[i], states[i]));
}

}  // namespace sinter
