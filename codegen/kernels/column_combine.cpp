#include "codegen/kernels/column_combine.h"

#include <fmt/format.h>

#include <cstdint>

#include "codegen/kernels/reduction_loops.h"
#include "compiler/program/op_cost.h"
#include "compiler/tiling/column_split.h"

namespace sinter {

void declare_column_split(KernelWriter& writer) {
  const Schedule& schedule = writer.schedule;
  Source& source = writer.source;
  const Extent tiles = source.grid;
  const std::string block = writer.block();
  if (schedule.cluster > 1) {
    source.grid = tiles * Extent(schedule.cluster);
    declare_cluster_exchange(writer, cluster_bytes(schedule, writer.body));
    writer.declare_index("column_tile", fmt::format("{} / {}", block, schedule.cluster));
    writer.declare_index("split", "cluster_rank()");
    return;
  }
  source.grid = tiles * Extent(schedule.splits);
  source.tickets = tiles;
  writer.add_scratch_arguments();
  // Consecutive blocks read adjacent columns of the same rows.
  const std::string count = atomic(writer.text(tiles));
  writer.declare_index("column_tile", tiles.is(1) ? "0" : fmt::format("{} % {}", block, count));
  writer.declare_index("split", tiles.is(1) ? block : fmt::format("{} / {}", block, count));
}

void combine_columns_in_cluster(KernelWriter& writer, const std::vector<const Node*>& reductions,
                                const std::vector<std::string>& states, bool to_all) {
  if (reductions.empty()) return;
  const int cluster = writer.schedule.cluster;
  std::int64_t offset = 0;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    places.push_back(writer.name_for(reductions[i], "_splits"));
    const std::string type = writer.state_type(*reductions[i]);
    writer.out.line(fmt::format(
        "{}* const {} = {};", type, places[i],
        i == 0 ? fmt::format("cluster.next<{}>()", type)
               : fmt::format("reinterpret_cast<{}*>(reinterpret_cast<unsigned char*>({}) + {})",
                             type, places[0], offset)));
    writer.out.line(fmt::format("share_states<{}, Shape>({}, {});", cluster, places[i], states[i]));
    offset += cluster_bytes(writer.schedule, state_bytes(*reductions[i]));
  }
  writer.out.line("cluster_arrive();");
  writer.out.line("cluster_wait();");
  for (std::size_t i = 0; i < reductions.size(); ++i)
    writer.out.line(fmt::format("join_shared_states<{}, {}, Shape>({}, {});", cluster, to_all,
                                places[i], states[i]));
}

void combine_columns_in_last_block(KernelWriter& writer, const std::vector<const Node*>& reductions,
                                   const std::vector<std::string>& states, bool to_all) {
  const int splits = writer.schedule.splits;
  const Extent tiles = writer.source.tickets;  // one per column tile
  const std::int64_t of_tile = columns_of(writer.schedule) * splits;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    places.push_back(writer.name_for(reductions[i], "_splits"));
    const std::string type = writer.state_type(*reductions[i]);
    const Extent bytes = tiles * Extent(of_tile * state_bytes(*reductions[i]));
    writer.out.line(fmt::format("{}* {} = {}{};", type, places[i],
                                writer.add_workspace_array(type, bytes),
                                tiles.is(1) ? "" : fmt::format(" + column_tile * {}", of_tile)));
    writer.out.line(fmt::format("store_split<Shape>({}, split, {});", places[i], states[i]));
  }
  writer.out.line(fmt::format("if (!last_block(tickets{}, {})) return;",
                              tiles.is(1) ? "" : " + column_tile", splits));
  for (std::size_t i = 0; i < reductions.size(); ++i)
    writer.out.line(fmt::format("join_splits<{}, {}, Shape>({}, {}, exchange);", splits, to_all,
                                places[i], states[i]));
}

}  // namespace sinter
