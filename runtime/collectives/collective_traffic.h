// The bytes that collectives send.
#pragma once

#include <cstdint>
#include <span>

#include "ir/graph/node.h"

namespace sinter {

/// The fewest bytes that a rank must send for the collective `node`, if the load is equal on all
/// ranks. With n bytes of operand and p ranks: all_reduce 2 n (p - 1) / p, reduce_scatter and
/// all_to_all n (p - 1) / p, all_gather n (p - 1), broadcast and reduce_to n (p - 1) / p. Source:
/// Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and
/// experience", 2007, section 4. For send_receive, n.
std::int64_t bytes_sent(const Node& node, std::span<const std::int64_t> symbols);

}  // namespace sinter
