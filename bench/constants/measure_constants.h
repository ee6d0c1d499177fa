// Measures the constants of a GPU that the planner otherwise assumes.
#pragma once

#include <string>
#include <vector>

#include "sinter/sinter.h"

namespace sinter::constants {

/// A measured constant of a target file, or another figure for the record.
struct Figure {
  std::string name;
  double value = 0;
  std::string problem = {};  ///< the reason why it was not measured; empty: it was
};

struct MeasureSettings {
  int repeats = 9;        ///< of each measurement; the median counts
  bool is_short = false;  ///< little data and few launches, for meaningless times
};

/// The constants of compiler/target/measured_constants.h, in their order, then the bandwidths of
/// reading, writing and two copies. Never throws for a single figure: it has the problem.
std::vector<Figure> measure_constants(const Device& device, const MeasureSettings& settings);

}  // namespace sinter::constants
