// Decides whether a row stays resident on the SM between passes, and whether it is split over many
// blocks.
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// True if rows are so long and so few that each row must be split over many blocks.
bool splits_rows(std::int64_t rows, std::int64_t extent, const Target& target);
/// True if each row of `body` must be split over many blocks to keep the memory busy. If a cluster
/// could keep the row resident, splitting must beat that.
bool should_split_rows(const Body& body, const Target& target, const Facts& facts);

/// True if a row can stay in the registers or shared memory of at most `most_blocks` blocks between
/// passes, so that it is read once. Of a symbolic length: the longest row of its size class.
bool fits_resident(const Body& body, const Target& target, const Facts& facts, int most_blocks);
/// A row always fits if it keeps at most this many bytes.
std::int64_t most_resident_bytes(const Target& target);

}  // namespace sinter
