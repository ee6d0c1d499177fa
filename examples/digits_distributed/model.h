// One step of data-parallel training of the network in ../mlp, as a recorded program that is the
// same on every rank.
#pragma once

#include <sinter/sinter.h>

namespace distributed {

/// The images are dealt to this many pieces. A rank owns as many of them as every other rank.
inline constexpr int kPieces = 8;
inline constexpr int kBatch = 32;  ///< images of each piece per step

/// A step over `pieces` pieces per rank, with `images` images each. It adds the gradients of all
/// pieces of all ranks, in an order that does not depend on the number of ranks.
sinter::Graph training_step(int pieces, int images, const sinter::RankGroup& ranks);

}  // namespace distributed
