// Is what a device computes right? The oracle says, at sizes that it can afford.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sinter/sinter.h"

namespace sinter::suite {

struct DefaultVerification {
  double worst = 0;  ///< largest error over its bound; at most 1 is right
  std::int64_t elements = 0;
  std::string problem = {};  ///< the first result that is wrong, and where; empty: none
};

/// Runs the graph of `text` on random inputs and holds its results against the oracle's.
DefaultVerification judge(const std::string& text, std::uint64_t seed, const Device& device,
                          const Options& options);

/// Up to `most` evenly spaced elements of each result, as the oracle knows them, by name: what
/// other systems' formulas are held against.
struct OracleSample {
  std::string name;
  std::vector<double> values;
};
std::vector<OracleSample> oracle_samples(const std::string& text, std::uint64_t seed);

}  // namespace sinter::suite
