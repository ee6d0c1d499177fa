// Stores of row kernels that are contiguous across adjacent rows rather than along each row. A
// block computes enough adjacent rows to fill sectors, and stores them through shared memory.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// Maximum vector width of row kernels.
inline constexpr int kMaxRowVector = 8;

/// The indices of the stores of `body` with a stride of 1 along its last row axis and a larger
/// stride along rows.
std::vector<int> transposed_stores(const Body& body, const Facts& facts);

/// The number of adjacent rows per block for which all these stores write whole sectors; 0 if there
/// are no such stores.
int rows_of_tiles(const Body& body, const Facts& facts);
/// True if the tiles of this many rows fit in `available_bytes` of shared memory.
bool fits_tiles(const Body& body, const Facts& facts, int rows, std::int64_t available_bytes);

/// Elements that a thread stores at once along the last row axis.
int row_tile_vector(const Body& body, const BodyStore& store, const Schedule& schedule,
                    const Facts& facts);
/// Shared memory of the rows of a block, a multiple of 16 bytes. Of a symbolic length: of the
/// longest rows of its size class.
std::int64_t row_tile_bytes(const Body& body, const BodyStore& store, int rows, int vector,
                            const Facts& facts);

}  // namespace sinter
