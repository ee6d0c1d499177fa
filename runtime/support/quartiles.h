// Quartiles of measured times.
#pragma once

#include <vector>

namespace sinter {

struct Quartiles {
  double lower = 0;
  double median = 0;
  double upper = 0;
};

/// Interpolates linearly between neighbours. All 0 if there are no numbers.
Quartiles quartiles_of(std::vector<double> numbers);

}  // namespace sinter
