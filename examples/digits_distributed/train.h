// Training on one rank, which holds a share of the images.
#pragma once

#include <sinter/sinter.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "../digits/data.h"

namespace distributed {

using Weights = std::map<std::string, std::vector<float>>;

/// Trains on the pieces of `set` from `first` on. The rank with the first piece prints the bytes
/// that it sends per step, and the loss.
Weights train(const digits::Set& set, int first, const sinter::RankGroup& ranks,
              std::span<const sinter::GroupCommunicator> communicators);

}  // namespace distributed
