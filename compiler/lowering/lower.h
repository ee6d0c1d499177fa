// Lowering: rewrites recorded ops into the primitive ops that kernels consist of.
#pragma once

#include "compiler/program/kernel.h"

#include <span>
#include <vector>

namespace sinter {

/// A single-level variance over at most this many elements takes two passes over them (mean, then
/// squared deviations). Over more elements it uses Welford's algorithm, in the order of the
/// reduction tree. Longer columns do not stay on the SM, so that two passes would read them twice.
inline constexpr std::int64_t kLargestTwoPassRow = std::int64_t{1} << 16;
inline constexpr std::int64_t kLargestTwoPassColumn = std::int64_t{1} << 15;

struct Lowered {
  Graph graph;
  std::vector<Guard> guards;  ///< the assumptions made about symbolic extents
};

/// Clones the nodes of `recorded` that outputs and updates need (`needed`, see `reachable`).
/// Rewrites `mean`, `var` and every multi-level reduction into primitive forms. Requires: nothing.
/// Guarantees: there is no mean and no var. Every reduction is one level of the tree. A sum's
/// operand, result and accumulator have one dtype. No reduction has a reduced extent that is the
/// number 0. Only welford may have reduced extents that are all 1. Collectives are numbered in the
/// order of recording, in which all ranks execute them.
Lowered lower(const Graph& recorded, std::span<const Node* const> needed, const Facts& facts);

}  // namespace sinter
