// The kernel kinds. The file of each kind maps blocks and threads to the iteration space and writes
// the loops.
#pragma once

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// No reduction: each thread computes `unroll` vectors.
void write_pointwise(KernelWriter& writer);
/// No reduction: each block computes `unroll` tiles of one vector per thread. Contiguous operands
/// are copied to shared memory some stages ahead.
void write_copied_pointwise(KernelWriter& writer);
/// No reduction: each block computes a tile. Accesses that are contiguous along another axis are
/// staged in shared memory.
void write_tiled_pointwise(KernelWriter& writer);
/// Each block owns rows of the result and writes the rows that the indices name, in index order.
void write_scatter(KernelWriter& writer);
/// Each thread has one or more chunks of a tile of its row. Tiles run in turn or look back.
void write_scan(KernelWriter& writer);
/// The threads of a block or cluster share a row and iterate over the reduced axis.
void write_row_reduce(KernelWriter& writer);
/// The same for blocks that compute `unroll` groups of rows in turn. Their operands are copied to
/// shared memory some stages ahead.
void write_copied_rows(KernelWriter& writer);
/// Rows and columns in one read: splits of the tree over the rows, combined by the last blocks.
void write_row_column_reduce(KernelWriter& writer);
/// Adjacent threads have adjacent columns; several threads along the reduced axis share a column.
void write_column_reduce(KernelWriter& writer);
/// The parts of a row are distributed over blocks; the last block combines them.
void write_full_reduce(KernelWriter& writer);

/// Writes the loops of the writer's kernel, by its kind.
void write_by_kind(KernelWriter& writer);

}  // namespace sinter
