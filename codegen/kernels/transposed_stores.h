// Stores of row kernels that are contiguous across adjacent rows. The rows of a block are collected
// in shared memory and then stored with coalesced accesses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// A store whose rows are collected in a tile in shared memory.
struct TransposedStore {
  int store = 0;     ///< index into Body::stores
  std::string tile;  ///< the variable
};

/// Reserves tiles in shared memory and redirects these stores to them. `Shape` must be declared.
std::vector<TransposedStore> declare_transposed_stores(KernelWriter& writer);
/// After all rows: stores the tiles to memory.
void write_transposed_stores(KernelWriter& writer, std::span<const TransposedStore> stores);

}  // namespace sinter
