// Accessors and rules for the nodes of collectives, which recording, verification and the oracle
// share.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ir/record/record.h"
#include "sinter/collectives.h"

namespace sinter {

/// True for collectives that compute with the values of several ranks.
bool reduces_over_ranks(Op op);

/// The name of the group of a collective, and its number of ranks.
std::string_view group_of(const Node& node);
std::int64_t ranks_of(const Node& node);
/// The place of a collective in the order of all collectives of the program. 0: not planned yet.
std::int64_t sequence_of(const Node& node);
const Node* with_sequence(GraphData& graph, const Node& node, std::int64_t sequence);
/// The reduction of an all_reduce, reduce_scatter or reduce_to. It is never the mean.
RankReduction rank_reduction_of(const Node& node);

/// `sum`, `prod` …: the text of a reduction.
std::string_view to_string(RankReduction reduction);
/// The reduction with this text, if there is one.
std::optional<RankReduction> rank_reduction(std::string_view text);

/// True for the dtypes that communicators reduce.
bool can_reduce_over_ranks(DType dtype);

/// Throws UserError if an axis of `x` cannot be cut into one part per rank.
void check_parts(std::string_view op, const Node& x, std::int64_t axis, std::int64_t ranks,
                 Location location);

/// The shape of the result of a collective of `x`. Throws UserError if axis 0 cannot be cut into
/// one part per rank.
ShapeVector collective_shape(Op op, const Node& x, std::int64_t ranks, Location location);

/// Throws UserError unless every number of `pairs` (from, to, from, to …) is a rank, no rank sends
/// twice, and none receives twice.
void check_pairs(std::span<const std::int64_t> pairs, std::int64_t ranks, Location location);

/// Throws UserError if the group has no name or no rank. The same if `graph` has a collective over
/// another number of ranks in a group of this name.
void check_group(std::string_view op, const GraphData& graph, const RankGroup& group,
                 Location location);

}  // namespace sinter
