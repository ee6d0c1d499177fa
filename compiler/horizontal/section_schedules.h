// Schedules of horizontally fused kernels: one for each section, all with blocks of one size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// True if `kernel` can have blocks of `threads`.
bool suits(const Kernel& kernel, int threads, const Target& target);
/// The sizes of blocks that suit `kernel` among those that horizontally fused kernels are tried
/// with, as bits.
unsigned suited_sizes(const Kernel& kernel, const Target& target);

/// Schedules of all `sections`, of these numbers of elements, with the same threads; those of the
/// heaviest section first.
std::vector<Schedule> section_candidates(std::span<const Kernel> sections,
                                         std::span<const std::int64_t> elements,
                                         const Target& target);

/// What resident tiles (resident tiles.h) make of the candidates of a cooperative kernel.
struct ResidentTileCandidates {
  std::vector<Schedule> schedules;  ///< those that have resident tiles first
  double bytes_saved = 0;           ///< by the first
  double seconds_saved = 0;         ///< likewise; negative: none has resident tiles
};
/// `inner`: what sections write and nothing else reads.
ResidentTileCandidates with_resident_tiles(const Program& program, std::span<const Kernel> sections,
                                           std::span<const int> inner,
                                           std::vector<Schedule> schedules, const Target& target);

}  // namespace sinter
