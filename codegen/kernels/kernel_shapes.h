// The kernel shapes: each answers, in one file, how blocks and threads map to the iteration space
// and what the loops over it are.
#pragma once

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// No reduction: each thread computes `unroll` vectors.
void write_pointwise(KernelWriter& writer);
/// No reduction either: each block computes a tile; loads that lie across it pass through shared
/// memory.
void write_tiled_pointwise(KernelWriter& writer);
/// Each block owns rows of the result and writes those that the indices name, in their order.
void write_scatter(KernelWriter& writer);
/// Each thread has a chunk of a tile of its row; tiles follow one another.
void write_scan(KernelWriter& writer);
/// The reduced axis is walked by the threads of a row.
void write_row_reduce(KernelWriter& writer);
/// Rows as well as columns: splits of the tree over the rows, joined by the last blocks.
void write_row_column_reduce(KernelWriter& writer);
/// Threads stand side by side on an axis that stays and walk the reduced axis together.
void write_column_reduce(KernelWriter& writer);
/// The parts of a row are dealt out to blocks; the last one that ends joins them.
void write_full_reduce(KernelWriter& writer);

/// The one of these that the writer's kernel has.
void write_shape(KernelWriter& writer);

}  // namespace sinter
