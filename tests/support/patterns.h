// The graphs under tests/golden/patterns: what memory-bound work looks like, and what each may
// cost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sinter/executable.h"
#include "sinter/graph.h"

namespace sinter::test {

/// One graph at one extent of its rows or columns. In its file, COLUMNS stands for the extent, and
/// these lines for the rest; a list has one figure for all extents, or one for each:
///
///     // sizes: rows = 4096
///     // columns: 33, 256, 4096
///     // launches: 1
///     // bytes: 1.00             (at most so many of the fewest there can be)
///     // in_flight: 9, 18, 48    (at least so many KiB of loads per SM; without the line, what the
///     // in_flight_because: …     GPU needs; with it, why it is less)
struct Pattern {
  std::string name;     ///< `softmax of 33`
  std::string text;     ///< with the extent in its place
  std::string columns;  ///< the extent; "-" if there is none
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  std::size_t launches = 0;
  bool shows_reasons = false;  ///< why there is more than one kernel or member
  double bytes = 1;
  double sectors = 0;  ///< asked for by tiles, against the fewest; 0: nothing is stated
  std::int64_t bytes_in_flight = 0;  ///< 0: nothing is stated
  std::string in_flight_because;

  Graph graph() const;
  /// The symbols of `graph`; valid as long as this.
  std::vector<Size> named_sizes() const;
};

/// How a failing test shows it.
inline void PrintTo(const Pattern& pattern, std::ostream* stream) { *stream << pattern.name; }

/// Those of `folder`: SINTER_SOURCE_DIR "/tests/golden/patterns".
std::vector<Pattern> patterns(const std::filesystem::path& folder);

}  // namespace sinter::test
