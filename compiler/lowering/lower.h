// Lowering: what is recorded → what kernels are made of.
#pragma once

#include "compiler/program/kernel.h"

#include <span>
#include <vector>

namespace sinter {

/// A variance of one level over at most this many elements takes two passes over them (mean, then
/// squared deviations); over more it is Welford's, in the order of the reduction tree.
inline constexpr std::int64_t kLargestTwoPassVariance = std::int64_t{1} << 16;

struct Lowered {
  Graph graph;
  std::vector<Guard> guards;  ///< what was relied on where extents are symbols
};

/// Clones what outputs and updates need (`needed`, see `reachable`) of `recorded`, with `mean`,
/// `var` and every reduction of several levels in primitive forms. Needs: nothing. Guarantees: no
/// mean and no var; every reduction is one level of the tree; a sum's operand, result and
/// accumulator have one dtype; no reduction has a reduced extent that is the number 0, and none but
/// welford has only extents of 1.
Lowered lower(const Graph& recorded, std::span<const Node* const> needed, const Facts& facts);
Lowered lower(const Graph& recorded, const Facts& facts);

}  // namespace sinter
