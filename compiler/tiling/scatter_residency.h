// Decides whether a block of a scatter keeps its rows resident in shared memory.
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// The maximum number of rows that a block keeps while it reads all indices. 0: it works in the
/// memory of the result. That is the case if rows are too long, or the result may already hold the
/// base. It also is if so many blocks would read all indices that this takes longer than moving the
/// rows.
std::int64_t rows_kept(const Body& body, const Target& target, const Facts& facts);

/// True if the kernel that scatters may also store values derived from rows that are not resident.
/// It stores all rows with their initial values, then again the rows that indices name.
bool sums_in_results(const Body& body, const Target& target, const Facts& facts);
/// Maximum rows per block in that case: each thread keeps one bit per row.
inline constexpr int kMaxNamedRows = 512;

/// Rows per block if `per_sm` blocks per SM own all rows.
std::int64_t rows_owned(const Body& body, const Target& target, const Facts& facts, int per_sm);

}  // namespace sinter
