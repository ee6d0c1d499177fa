// Training on one rank, which holds a share of the images.
#pragma once

#include <sinter/sinter.h>

#include <map>
#include <string>
#include <vector>

#include "../digits/data.h"

namespace distributed {

using Weights = std::map<std::string, std::vector<float>>;

/// Trains on the pieces of `set` that belong to this rank. Rank 0 prints the bytes that it sends
/// per step, and the loss.
Weights train(const digits::Set& set, const sinter::Communicator& ranks);

}  // namespace distributed
