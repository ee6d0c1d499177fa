// The graphs under tests/golden/patterns: what memory-bound work looks like, and what each may
// cost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/plan.h"
#include "sinter/executable.h"
#include "sinter/graph.h"
#include "tests/support/files/golden.h"

namespace sinter::test {

/// One graph at one extent of its rows or columns. In its file, COLUMNS stands for the extent, and
/// these lines for the rest; a list has one figure for all extents, or one for each:
///
///     // sizes: rows = 4096
///     // columns: 33, 256, 4096
///     // launches: 1
///     // bytes: 1.00             (at most so many of the fewest there can be)
///     // layers: 12             (launches and bytes are told for each of so many too)
///     // in_flight: 9, 18, 48    (at least so many KiB of loads per SM; without the line, what the
///     // in_flight_because: …     GPU needs; with it, why it is less)
///     // last_wave: 1.07         (times the time in which blocks read without a last, partial
///     wave;
///     // last_wave_because: …     without the line 1.05; with it, why it is more)
///     // narrow: x, y            (arrays that are also, or alone, read or stored element by
///     // narrow_because: …        element; those of odd extents are at the ends of rows anyway)
///
/// and how the host device runs them, which must give kernels of the same forms (`small_pattern`):
///
///     // run: rows = 64, 3072 = 96   (sizes, and other extents wherever they stand)
///     // chip: sm_count = 2, bandwidth = 50   (of a GPU as much smaller; in GB/s)
struct Pattern {
  std::string name;     ///< `softmax of 33`
  std::string text;     ///< with the extent in its place
  std::string columns;  ///< the extent; "-" if there is none
  GoldenSizes sizes;
  std::size_t launches = 0;
  bool shows_reasons = false;  ///< why there is more than one kernel or section
  double bytes = 1;
  int layers = 0;      ///< 0: it has none
  double sectors = 0;  ///< asked for by tiles, against the fewest; 0: nothing is stated
  std::int64_t bytes_in_flight = 0;  ///< 0: nothing is stated
  std::string in_flight_because;
  double last_wave = 1.05;
  std::string last_wave_because;
  std::vector<std::string> narrow;
  std::string narrow_because;
  GoldenSizes run;       ///< what is another size or extent when the host device runs it
  GoldenSizes run_chip;  ///< and what is not as on the H200
  GoldenSizes chip;      ///< the same of this pattern

  Graph graph() const;
  Target target() const;
  /// True if rows end within vectors.
  bool has_odd_rows() const { return columns != "-" && std::stoll(columns) % 2 != 0; }
  /// The symbols of `graph`; valid as long as this.
  std::vector<Size> named_sizes() const;
};

/// How a failing test shows it.
inline void PrintTo(const Pattern& pattern, std::ostream* stream) { *stream << pattern.name; }

/// ` of 12 row_reduce + pointwise`; empty of a kernel that is not joined.
std::string sections_text(const Kernel& kernel);
/// The launches of `program`: kinds, sections, and how they keep or move what they work on.
std::string forms_of(const Program& program);
/// What `pattern` is planned to be for its own sizes and GPU.
Program plan_pattern(const Pattern& pattern);

/// The pattern as the host device runs it: with few rows, or as its file says.
Pattern small_pattern(const Pattern& pattern);

/// Those of one file.
std::vector<Pattern> patterns_in(const std::filesystem::path& file);
/// Those of `folder`: SINTER_SOURCE_DIR "/tests/golden/patterns".
std::vector<Pattern> patterns(const std::filesystem::path& folder);

}  // namespace sinter::test
