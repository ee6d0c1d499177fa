// Checks a device's results with the oracle, at sizes that the oracle can afford.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sinter/sinter.h"

namespace sinter::suite {

struct ResultCheck {
  double worst = 0;  ///< the largest error divided by its bound; at most 1 passes
  std::int64_t elements = 0;
  std::string problem = {};  ///< the first wrong result and element; empty if there is none
};

/// Runs the graph of `text` on random inputs and compares its results with the oracle's.
ResultCheck check_results(const std::string& text, std::uint64_t seed, const Device& device,
                          const Options& options);

/// Evenly spaced elements of a result, computed by the oracle. The formulas of other systems are
/// checked against them.
struct OracleSample {
  std::string name;
  std::vector<double> values;
};
/// The samples of each result: up to 12 elements, or 2 if there are more than 4 results.
std::vector<OracleSample> oracle_samples(const std::string& text, std::uint64_t seed);

}  // namespace sinter::suite
