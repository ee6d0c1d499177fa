// Schedules of horizontally fused kernels: one per section, all with the same block size.
#pragma once

#include <span>
#include <vector>

#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// True if `kernel` can have blocks of `threads`.
bool supports_block_size(const Kernel& kernel, int threads, const Target& target);
/// The block sizes that suit `kernel`, as bits, among those that horizontally fused kernels try.
unsigned supported_block_sizes(const Kernel& kernel, const Target& target);

/// Schedules of all `sections` with the same number of threads per block. The block size of the
/// largest section comes first.
std::vector<Schedule> section_candidates(std::span<const Kernel> sections, const Facts& facts,
                                         const Target& target);

/// Candidates of a cooperative kernel, including those with resident tiles (resident_tiles.h).
struct ResidentTileCandidates {
  std::vector<Schedule> schedules;  ///< with resident tiles first
  double bytes_saved = 0;           ///< by the first one
  double seconds_saved = 0;         ///< by the first one; negative: none has resident tiles
};
/// Adds schedules with resident tiles to `schedules`. `internal_buffers`: temporaries that only
/// these sections access.
ResidentTileCandidates with_resident_tiles(const Program& program, std::span<const Kernel> sections,
                                           std::span<const int> internal_buffers,
                                           std::vector<Schedule> schedules, const Target& target);

}  // namespace sinter
