// Predicted cost of a kernel from its body and a target alone (the time model of PERFORMANCE.md
// §2).
#pragma once

#include "compiler/body.h"
#include "compiler/kernel.h"
#include "compiler/target.h"

namespace sinter {

struct Cost {
  double bytes_read = 0;
  double bytes_written = 0;
  double instructions = 0;  ///< of single threads
  double seconds = 0;       ///< launch + max(bytes / bandwidth, instructions / issue rate)
};

/// Needs: collapsed axes, where `body` reduces columns.
Cost cost_of(const Body& body, const Target& target, const Facts& facts);
/// Instructions of single threads per second, at the clock that memory-bound kernels are seen to
/// run at.
double issue_rate(const Target& target);
/// What the rest of `cost` takes where a share `busy` of the SMs has work, and moving its bytes
/// takes `moving` seconds; negative: as long as at full bandwidth.
double seconds_of(const Cost& cost, const Target& target, double busy = 1, double moving = -1);

/// True if so few rows are so long that their parts must be dealt out to many blocks.
bool deals_out_rows(std::int64_t rows, std::int64_t extent, const Target& target);
/// True if a row of `body` is so long, and rows are so few, that its parts must be dealt out to
/// many blocks for the memory to be kept busy: to more than those of a cluster, where one keeps it.
bool wants_split(const Body& body, const Target& target, const Facts& facts);

/// True if a row may stay in registers or shared memory between passes: then it is read once.
bool fits_resident(const Body& body, const Target& target);
/// The same of clusters of no more than `most_blocks`.
bool fits_resident(const Body& body, const Target& target, int most_blocks);
/// A row of which no more than this is kept always fits.
std::int64_t most_resident_bytes(const Target& target);

/// Instructions of one application of an op, roughly: what recomputing it costs. Of a reduction: of
/// taking one element in.
int instructions_of(Op op);

double bytes_of(Extent elements, DType dtype, const Facts& facts);
/// Bytes of the state that a reduction adds elements to.
int state_bytes(const Node& reduction);

}  // namespace sinter
