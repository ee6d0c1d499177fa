#include "codegen/kernels/column_cluster_writer.h"

#include <fmt/format.h>

#include "compiler/program/op_cost.h"
#include "compiler/tiling/column_split.h"

namespace sinter {

void ColumnClusterWriter::declare() {
  const int cluster = writer_.schedule.cluster;
  writer_.source.cluster = cluster;
  writer_.source.grid = writer_.source.grid * Extent(cluster);
  const std::int64_t half = cluster_bytes(writer_.schedule, writer_.body);
  writer_.out.line(fmt::format("Exchange cluster = {{shared_memory() + {}, {}, 0}};",
                               writer_.source.shared_bytes, half));
  writer_.out.line("cluster_arrive();  // this block has started");
  writer_.source.shared_bytes += 2 * half;
  writer_.declare_index("column_tile", fmt::format("{} / {}", writer_.block(), cluster));
  writer_.declare_index("split", "cluster_rank()");
}

void ColumnClusterWriter::await_start() {
  writer_.out.line("cluster_wait();  // all blocks of the cluster have started");
}

void ColumnClusterWriter::write_combine(const std::vector<const Node*>& reductions,
                                        const std::vector<std::string>& states) {
  if (reductions.empty()) return;
  const int cluster = writer_.schedule.cluster;
  std::int64_t offset = 0;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    places.push_back(writer_.name_for(reductions[i], "_splits"));
    const std::string type = writer_.state_type(*reductions[i]);
    writer_.out.line(fmt::format(
        "{}* const {} = {};", type, places[i],
        i == 0 ? fmt::format("cluster.next<{}>()", type)
               : fmt::format("reinterpret_cast<{}*>(reinterpret_cast<unsigned char*>({}) + {})",
                             type, places[0], offset)));
    writer_.out.line(
        fmt::format("share_states<{}, Shape>({}, {});", cluster, places[i], states[i]));
    offset += cluster_bytes(writer_.schedule, state_bytes(*reductions[i]));
  }
  writer_.out.line("cluster_arrive();");
  writer_.out.line("cluster_wait();");
  for (std::size_t i = 0; i < reductions.size(); ++i)
    writer_.out.line(
        fmt::format("join_shared_states<{}, Shape>({}, {});", cluster, places[i], states[i]));
}

}  // namespace sinter
