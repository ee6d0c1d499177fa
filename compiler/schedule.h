// How a kernel runs: which threads compute which part of its iteration space. Never what it
// computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinter {

/// Schedules change speed only: every schedule of a kernel gives the same bits.
struct Schedule {
  int threads = 256;  ///< per block
  int vector = 1;     ///< consecutive elements per load and store
  /// Vectors per thread (pointwise); rows loaded at once (rows and columns); chunks of a column
  /// loaded at once (columns).
  int unroll = 1;
  int threads_per_row = 1;  ///< reductions: threads that share one row (or column)
  int rows_per_block = 1;   ///< reductions: rows (or columns of vectors) per block
  int groups = 1;           ///< reductions: groups of threads of one row, each with its own parts
  bool resident = false;    ///< the row is read once and kept in registers …
  bool in_shared = false;   ///< … or, if it is too long for them, in shared memory
  /// Rows and columns: subtrees of the rows, each the work of the threads of a row.
  int pieces = 1;
  int blocks_per_sm = 0;  ///< that the compiler must leave registers for; 0: as it likes
  bool split = false;     ///< the parts of one row are dealt out to blocks; the last one finishes
  std::vector<Schedule> members = {};  ///< of a joined kernel, one for each; all have its threads

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// `threads 256, vector 4, unroll 2`: as in head comments and tuning tables.
std::string to_string(const Schedule& schedule);

}  // namespace sinter
