// Whether a block of a scatter keeps the rows that it owns in shared memory.
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// The most rows that a block keeps until it has gone through all indices; 0 where it works in the
/// memory of the result: where rows are too long, may be there already, or would be dealt out to so
/// many blocks that all of them reading the indices takes longer than memory does.
std::int64_t rows_kept(const Body& body, const Target& target, const Facts& facts);

/// True if what is made of rows that are not kept may be stored by the kernel that scatters them:
/// all rows as they begin, then once more those that indices name.
bool sums_in_results(const Body& body, const Target& target, const Facts& facts);
/// The most rows per block then: each thread keeps a bit of each.
inline constexpr int kMaxNamedRows = 512;

/// Rows per block, where `per_sm` blocks of an SM own all of them.
std::int64_t rows_owned(const Body& body, const Target& target, const Facts& facts, int per_sm);

}  // namespace sinter
