// Results of a kernel of rows that lie in memory along neighbouring rows rather than along each of
// them: a block makes as many neighbours as fill sectors, and stores them through shared memory.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// A row kernel's vectors are no longer.
inline constexpr int kLongestVector = 8;

/// The stores of `body`, by number, that move by one element along its last row axis and by more
/// along the rows.
std::vector<int> transposed_stores(const Body& body, const Facts& facts);

/// The rows that a block must make side by side so that all of these write whole sectors; 0 where
/// there are none.
int rows_of_tiles(const Body& body, const Facts& facts);
/// True if what so many rows leave for these fits in shared memory beside that of other blocks.
bool fits_tiles(const Body& body, const Facts& facts, int rows, std::int64_t place);

/// Elements that a thread stores at once along the rows' last axis.
int row_tile_vector(const Body& body, const BodyStore& store, const Schedule& schedule,
                    const Facts& facts);
/// Shared memory of the rows of a block, a multiple of 16.
std::int64_t row_tile_bytes(const Body& body, const BodyStore& store, int rows, int vector);

}  // namespace sinter
