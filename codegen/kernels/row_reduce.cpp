// Row reductions: the threads of a block or cluster share a row.
#include <fmt/format.h>

#include "codegen/kernels/final_reduce.h"
#include "codegen/kernels/kernel_shapes.h"
#include "codegen/kernels/row_passes.h"
#include "codegen/kernels/row_store_tiles.h"

namespace sinter {

namespace {

/// Threads past the `last` row repeat its work, to reach every barrier, and store nothing.
void declare_live_row(KernelWriter& writer, RowPasses& passes, const std::string& own,
                      const std::string& last, std::span<const int> axes) {
  writer.declare_index("wanted_row", own);
  passes.live = "live";
  writer.out.line(fmt::format("const bool live = wanted_row <= {};", last));
  writer.declare_axes(writer.declare_index("row", fmt::format("live ? wanted_row : {}", last)),
                      axes, "row");
}

/// Declares the row of this thread. Each row of a block has its own threads.
void declare_row(KernelWriter& writer, RowPasses& passes) {
  const Body& body = writer.body;
  const Extent rows = body.parallel_size();
  const int per_block = writer.schedule.rows_per_block;
  const int cluster = writer.schedule.cluster;
  writer.source.grid = writer.blocks_over(rows, per_block) * Extent(cluster);
  const std::vector<int> axes = indices_below(body.parallel_axes);
  const std::string block = writer.block();
  const std::string own =
      cluster > 1      ? fmt::format("{} / {}", block, cluster)
      : per_block == 1 ? block
                       : fmt::format("{} * {} + static_cast<int>(threadIdx.x) / Shape::kThreads",
                                     block, per_block);
  if (writer.schedule.block_limit > 0) {
    writer.declare_block_range(block, rows, per_block);
    declare_live_row(writer, passes, "start + static_cast<int>(threadIdx.x) / Shape::kThreads",
                     "end - 1", axes);
    return;
  }
  const bool may_be_outside = !rows.is_number() || rows.number() % per_block != 0;
  if (per_block == 1 || !may_be_outside) {
    if (!axes.empty()) writer.declare_axes(writer.declare_index("row", own), axes, "row");
    return;
  }
  declare_live_row(writer, passes, own, writer.text(rows - Extent(1)), axes);
}

}  // namespace

void write_row_reduce(KernelWriter& writer) {
  RowPasses passes(writer);
  writer.vector_axis = writer.body.reduced_axis();
  passes.declare_shape(final_exchange_bytes(writer));
  declare_row(writer, passes);
  passes.declare_kept_values();
  RowStoreTiles tiles(writer);
  tiles.declare();
  passes.write();
  tiles.write_stores();
  if (!writer.body.finals.empty()) write_final_reductions(writer, passes.first_of_row());
}

}  // namespace sinter
