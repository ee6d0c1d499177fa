#include "codegen/kernels/column_split_writer.h"

#include <fmt/format.h>

#include "compiler/program/op_cost.h"
#include "compiler/tiling/column_split.h"

namespace sinter {

void ColumnSplitWriter::declare() {
  writer_.source.grid = tiles_ * Extent(writer_.schedule.splits);
  writer_.source.tickets = tiles_;
  writer_.add_scratch_arguments();
  // Consecutive blocks read adjacent columns of the same rows.
  const std::string tiles = atomic(writer_.text(tiles_));
  writer_.declare_index("column_tile",
                        tiles_.is(1) ? "0" : fmt::format("{} % {}", writer_.block(), tiles));
  writer_.declare_index(
      "split", tiles_.is(1) ? writer_.block() : fmt::format("{} / {}", writer_.block(), tiles));
}

void ColumnSplitWriter::write_combine(const std::vector<const Node*>& reductions,
                                      const std::vector<std::string>& states) {
  const int splits = writer_.schedule.splits;
  const std::int64_t of_tile = columns_of(writer_.schedule) * splits;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    places.push_back(writer_.name_for(reductions[i], "_splits"));
    const std::string type = writer_.state_type(*reductions[i]);
    const Extent bytes = tiles_ * Extent(of_tile * state_bytes(*reductions[i]));
    writer_.out.line(fmt::format("{}* {} = {}{};", type, places[i],
                                 writer_.add_workspace_array(type, bytes),
                                 tiles_.is(1) ? "" : fmt::format(" + column_tile * {}", of_tile)));
    writer_.out.line(fmt::format("store_split<Shape>({}, split, {});", places[i], states[i]));
  }
  writer_.out.line(fmt::format("if (!last_block(tickets{}, {})) return;",
                               tiles_.is(1) ? "" : " + column_tile", splits));
  for (std::size_t i = 0; i < reductions.size(); ++i)
    writer_.out.line(
        fmt::format("join_splits<{}, Shape>({}, {}, exchange);", splits, places[i], states[i]));
}

}  // namespace sinter
