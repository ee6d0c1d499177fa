// Row reductions: the threads of a block or cluster share a row.
#include <fmt/format.h>

#include "codegen/kernels/final_reduce.h"
#include "codegen/kernels/kernel_kinds.h"
#include "codegen/kernels/row_passes.h"
#include "codegen/kernels/transposed_stores.h"

namespace sinter {

namespace {

/// Declares the row of this thread. Each row of a block has its own threads.
void declare_row(KernelWriter& writer, RowPasses& passes) {
  const Body& body = writer.body;
  const Extent rows = body.parallel_size();
  const int per_block = writer.schedule.rows_per_block;
  const int cluster = writer.schedule.cluster;
  writer.source.grid = writer.blocks_over(rows, per_block) * Extent(cluster);
  const std::vector<int> axes = indices_below(body.parallel_axes);
  const std::string block = writer.block();
  std::string own = cluster > 1 ? fmt::format("{} / {}", block, cluster)
                    : per_block == 1
                        ? block
                        : fmt::format("{} * {} + static_cast<int>(threadIdx.x) / Shape::kThreads",
                                      block, per_block);
  std::string last;  // the last row, if there may be threads past it
  if (writer.schedule.block_limit > 0) {
    writer.declare_block_range(block, rows, per_block);
    own = "start + static_cast<int>(threadIdx.x) / Shape::kThreads";
    last = "end - 1";
  } else if (per_block > 1 && (!rows.is_number() || rows.number() % per_block != 0)) {
    last = writer.text(rows - Extent(1));
  }
  if (last.empty()) {
    if (!axes.empty()) writer.declare_axes(writer.declare_index("row", own), axes, "row");
    return;
  }
  passes.live = "live";
  writer.declare_axes(declare_live(writer, "row", own, last), axes, "row");
}

}  // namespace

void write_row_reduce(KernelWriter& writer) {
  RowPasses passes(writer);
  writer.vector_axis = writer.body.reduced_axis();
  passes.declare_shape(final_exchange_bytes(writer));
  declare_row(writer, passes);
  passes.declare_kept_values();
  const std::vector<TransposedStore> transposed = declare_transposed_stores(writer);
  passes.write();
  write_transposed_stores(writer, transposed);
  if (!writer.body.finals.empty()) return write_final_reductions(writer, passes.first_of_row());
  passes.set_meeting();
  set_exchange_uses(writer, passes.exchange_bytes(), passes.exchange_uses());
}

}  // namespace sinter
