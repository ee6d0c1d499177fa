// Decides whether a row stays on the SM between passes, and whether a row is split over many
// blocks.
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// True if so few rows are so long that their parts must be dealt out to many blocks.
bool splits_rows(std::int64_t rows, std::int64_t extent, const Target& target);
/// True if a row of `body` is so long, and rows are so few, that its parts must be dealt out to
/// many blocks for the memory to be kept busy: to more than those of a cluster, where one keeps it.
bool should_split_rows(const Body& body, const Target& target, const Facts& facts);

/// True if a row may stay in registers or shared memory between passes: then it is read once.
bool fits_resident(const Body& body, const Target& target);
/// The same of clusters of no more than `most_blocks`.
bool fits_resident(const Body& body, const Target& target, int most_blocks);
/// A row of which no more than this is kept always fits.
std::int64_t most_resident_bytes(const Target& target);

}  // namespace sinter
