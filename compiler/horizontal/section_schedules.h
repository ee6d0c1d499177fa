// Schedules of joined kernels: one for each member, all with blocks of one size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// True if `kernel` can have blocks of `threads`.
bool suits(const Kernel& kernel, int threads, const Target& target);
/// The sizes of blocks that suit `kernel` among those that joined kernels are tried with, as bits.
unsigned suited_sizes(const Kernel& kernel, const Target& target);

/// Schedules of all `members`, of these numbers of elements, with the same threads; those of the
/// heaviest member first.
std::vector<Schedule> joined_candidates(std::span<const Kernel> members,
                                        std::span<const std::int64_t> elements,
                                        const Target& target);

/// What panels (panels.h) make of the candidates of a cooperative kernel.
struct PanelCandidates {
  std::vector<Schedule> schedules;  ///< those that have panels first
  double bytes_saved = 0;           ///< by the first
  double seconds_saved = 0;         ///< likewise; negative: none has panels
};
/// `inner`: what members write and nothing else reads.
PanelCandidates with_panels(const Program& program, std::span<const Kernel> members,
                            std::span<const int> inner, std::vector<Schedule> schedules,
                            const Target& target);

}  // namespace sinter
