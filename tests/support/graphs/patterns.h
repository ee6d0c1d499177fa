// The graphs under tests/golden/patterns: typical memory-bound work, with limits on its cost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/plan.h"
#include "sinter/executable.h"
#include "sinter/graph.h"
#include "tests/support/files/golden.h"

namespace sinter::test {

/// One graph at one extent of its rows or columns. In its file, COLUMNS is replaced by the extent,
/// and these lines give the limits. A list has one value for all extents, or one per extent:
///
///     // sizes: rows = 4096
///     // columns: 33, 256, 4096
///     // symbols: 4096, 5000     (more patterns, in which COLUMNS is a symbol of these sizes)
///     // symbol_bytes: 1.01      (the maximum of these, as `bytes`; default 1.02)
///     // symbol_narrow: x         (as `narrow`, of these, with `symbol_narrow_because`)
///     // symbol_in_flight: 32      (as `in_flight`, with `symbol_in_flight_because`)
///     // symbol_last_wave: 1.13    (as `last_wave`, with `symbol_last_wave_because`)
///     // launches: 1             (the maximum)
///     // bytes: 1.00             (the maximum, as a multiple of the minimal bytes)
///     // sectors: 1.05           (the maximum of kernels with tiles, as a multiple of the fewest)
///     // reasons: shown          (figures.txt lists the boundaries and their reasons)
///     // layers: 12              (figures.txt also lists launches and bytes per layer)
///     // in_flight: 9, 18, 48    (the minimum KiB of loads in flight per SM; default: the GPU's
///     // in_flight_because: …     need; the second line says why less is enough)
///     // last_wave: 1.07         (the maximum read time, as a multiple of the time without a
///     // last_wave_because: …     partial last wave; default 1.05)
///     // narrow: x, y            (arrays that may be accessed element by element; the ends of
///     // narrow_because: …        odd rows always may be)
///
/// Two more lines say how the host device runs the graph. The kernels must keep their forms
/// (`small_pattern`):
///
///     // run: rows = 64, 3072 = 96   (symbol sizes, and replacements of constant extents)
///     // chip: sm_count = 2, bandwidth = 50   (a GPU that is smaller in proportion; in GB/s)
struct Pattern {
  std::string name;     ///< `softmax of 33`; with a symbol: `softmax of columns = 33`
  std::string text;     ///< with COLUMNS replaced
  std::string columns;  ///< the extent; "-" if there is none
  /// Of a pattern in which COLUMNS is a symbol: the text with the number; else empty.
  std::string fixed_text;
  GoldenSizes sizes;
  std::size_t launches = 0;
  bool shows_reasons = false;
  double bytes = 1;
  int layers = 0;                    ///< 0: no layers
  double sectors = 0;                ///< 0: no limit
  std::int64_t bytes_in_flight = 0;  ///< 0: the GPU's need
  std::string in_flight_because;
  double last_wave = 1.05;
  std::string last_wave_because;
  std::vector<std::string> narrow;
  std::string narrow_because;
  GoldenSizes run;       ///< the sizes and extents that small_pattern replaces
  GoldenSizes run_chip;  ///< the properties in which small_pattern's GPU differs from the H200
  GoldenSizes chip;      ///< the properties in which this pattern's GPU differs from the H200

  Graph graph() const;
  bool has_symbolic_columns() const { return !fixed_text.empty(); }
  /// This pattern with the number in place of the symbol for COLUMNS.
  Pattern with_fixed_columns() const;
  /// The GPU `base` with the properties of `chip`.
  Target target(const Target& base = *find_target("h200")) const;
  /// True if rows end within vectors.
  bool has_odd_rows() const { return columns != "-" && std::stoll(columns) % 2 != 0; }
  /// The symbols and their sizes. Valid while the pattern exists.
  std::vector<Size> named_sizes() const;
};

/// The name, for gtest messages.
inline void PrintTo(const Pattern& pattern, std::ostream* stream) { *stream << pattern.name; }

/// The sections of a horizontally fused kernel, as ` of 12 row_reduce + pointwise`. Empty for other
/// kernels.
std::string sections_text(const Kernel& kernel);
/// The launches of `program`: kinds, sections, and whether they have symbolic reduced extents,
/// resident rows, clusters or tiles.
std::string forms_of(const Program& program);
/// The program of `pattern` for its own sizes and GPU.
Program plan_pattern(const Pattern& pattern);

/// The pattern as the host device runs it: with few rows, or with the sizes in its file.
Pattern small_pattern(const Pattern& pattern);

/// The number of elements of all inputs.
std::int64_t input_elements(const Pattern& pattern);

/// The pattern of `file` in which COLUMNS is a symbol of the size `columns`, which the file need
/// not list.
Pattern symbolic_pattern(const std::filesystem::path& file, std::int64_t columns);
/// The patterns of one file.
std::vector<Pattern> patterns_in(const std::filesystem::path& file);
/// One pattern per form of kernels in `file`, by the form. It is the last one with few columns, or
/// the one whose small version has the least work.
std::map<std::string, Pattern> one_of_each_form(const std::filesystem::path& file);
/// The patterns of `folder`: SINTER_SOURCE_DIR "/tests/golden/patterns".
std::vector<Pattern> patterns(const std::filesystem::path& folder);

}  // namespace sinter::test
