// The bytes that collectives send.
#pragma once

#include <cstdint>
#include <span>

#include "ir/graph/node.h"

namespace sinter {

/// The fewest bytes that a rank must send for the collective `node`, if the load is equal on all
/// ranks. The operand has n bytes, and there are p ranks. Source: Chan, Heimlich, Purkayastha and
/// van de Geijn, "Collective communication: theory, practice, and experience", 2007, section 4.
///
///     all_reduce                                           2 n (p - 1) / p
///     reduce_scatter, all_to_all, broadcast, reduce_to     n (p - 1) / p
///     all_gather                                           n (p - 1)
///     send_receive                                         n
std::int64_t bytes_sent(const Node& node, std::span<const std::int64_t> symbols);

}  // namespace sinter
