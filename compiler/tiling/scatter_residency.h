// Decides whether a block of a scatter keeps its rows resident in shared memory.
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// The maximum number of rows that a block keeps while it reads all indices. 0: it works in the
/// memory of the result. That is the case if rows are too long, or if the result may already hold
/// the base. It is also the case if so many blocks read the indices that this takes more than half
/// of the time to move the rows.
std::int64_t rows_kept(const Body& body, const Target& target, const Facts& facts);

/// True if the kernel that scatters may also store values derived from rows that are not resident.
/// It stores all rows with their initial values, then again the rows that indices name.
bool sums_in_results(const Body& body, const Target& target, const Facts& facts);
/// Maximum rows per block in that case: each thread keeps one bit per row.
inline constexpr int kMaxMarkedRows = 512;

/// The maximum number of rows of a block: of those that it keeps or marks.
std::int64_t most_rows_per_block(const Body& body, const Target& target, const Facts& facts);

/// Rows per block if `per_sm` blocks per SM own all rows.
std::int64_t owned_rows_per_block(const Body& body, const Target& target, const Facts& facts,
                                  int per_sm);

}  // namespace sinter
