// The oracle of programs with collectives: interprets the program of all ranks in one process.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/oracle/interpret.h"

namespace sinter {

/// The inputs of one rank, and its sizes by symbol id.
struct RankInputs {
  const HostArrays& inputs;
  std::span<const std::int64_t> symbols;
};

/// The groups of one name. Each has the ranks of the program at its positions 0, 1, …
using RankGroups = std::map<std::string, std::vector<std::vector<int>>, std::less<>>;

/// Computes `graph` for every rank, op by op. A name that `groups` lacks is the group of all ranks.
/// The bounds hold for any order in which a communicator reduces. Throws UserError as `interpret`
/// does. Also throws if a group has another size than the graph says, or if a rank is in no group of
/// a name. The same if a rank does not exist, or is in two groups of a name. The same if the
/// operands of a collective have different shapes.
std::vector<Interpretation> interpret_ranks(const GraphData& graph,
                                            std::span<const RankInputs> ranks,
                                            const RankGroups& groups = {});

}  // namespace sinter
