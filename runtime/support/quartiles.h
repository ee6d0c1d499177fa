// Quartiles of measured times.
#pragma once

#include <vector>

namespace sinter {

struct Quartiles {
  double lower = 0;
  double median = 0;
  double upper = 0;
};

/// All 0 where there is no number.
Quartiles quartiles_of(std::vector<double> numbers);

}  // namespace sinter
