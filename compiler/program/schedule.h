// How a kernel runs: which threads compute which part of its iteration space. Never what it
// computes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sinter {

/// Of a horizontally fused kernel: what its blocks keep of its operands from phase to phase
/// (resident tiles.h).
struct ResidentTileSchedule {
  int channels = 0;   ///< of a resident tile; 0: there are none
  int arrays = 0;     ///< the first so many of those that could have resident tiles
  int per_block = 0;  ///< resident tiles that a block has place for
  int rounds = 1;     ///< through all phases, each for some of the channels
  /// A block takes a resident tile through all phases that need nothing of other resident tiles,
  /// and then the next one, so that it has place for one of them (local_tiles.h).
  bool is_local = false;
  /// Local tiles: the units of memory that arrays consist of, whatever lies where within one; 0:
  /// they have the shape outer × channels × rows.
  std::int64_t units = 0;

  explicit operator bool() const { return channels > 0; }
  friend bool operator==(const ResidentTileSchedule&, const ResidentTileSchedule&) = default;
};

/// The order in which a section of a horizontally fused kernel goes through rows of outer ×
/// channels: all places of outer for some channels, then for the next ones (resident tiles.h).
struct StripSchedule {
  int channels = 0;  ///< of a strip; 0: rows are gone through as the body has them
  int outer = 1;     ///< places of outer

  explicit operator bool() const { return channels > 0; }
  friend bool operator==(const StripSchedule&, const StripSchedule&) = default;
};

/// Schedules change speed only: every schedule of a kernel gives the same bits.
struct Schedule {
  int threads = 256;  ///< per block
  int vector = 1;     ///< consecutive elements per load and store
  /// Vectors per thread (pointwise); loaded at once: vectors of a row in loops over it (rows), rows
  /// (rows and columns), chunks of a column (columns).
  int unroll = 1;
  int threads_per_row = 1;  ///< reductions: threads that share one row (or column)
  int rows_per_block = 1;   ///< reductions: rows (or columns of vectors) per block
  int groups = 1;           ///< reductions: groups of threads of one row, each with its own parts
  /// The row is read once and kept in registers …; the rows of a scatter, in shared memory.
  bool resident = false;
  bool in_shared = false;  ///< … or, if it is too long for them, in shared memory
  /// Blocks that share one row, or the rows of the same columns, each with its own parts of the
  /// tree, and run at once: a cluster. In distributed shared memory they hand results over.
  int cluster = 1;
  /// Rows and columns: the blocks of a cluster have rows of their own instead, and join the states
  /// of the columns.
  bool joins_columns = false;
  /// Rows and columns: subtrees of the rows, each the work of the threads of a row.
  int splits = 1;
  int blocks_per_sm = 0;   ///< that the compiler must leave registers for; 0: as it likes
  bool split = false;      ///< the parts of one row are dealt out to blocks; the last one finishes
  bool has_hints = false;  ///< loads tell the caches what will be read again, and what will not
  /// Pointwise: a block owns tile × tile positions, and what lies in memory along the other of
  /// their two axes passes through shared memory (tiles.h). 0: no tiles.
  int tile = 0;
  /// Pointwise: vectors run along all axes as if they were one, past the ends of rows that are no
  /// multiple of them. What does not lie like that is loaded by as few
  /// elements as rows consist of.
  bool is_flat = false;
  /// Of a section of a horizontally fused kernel: no block goes beyond a multiple of this along the
  /// last axis that blocks deal out (rows, columns, the tiled axis, elements), however much more it
  /// could do; 0: beyond none (resident tiles.h).
  int stop = 0;
  StripSchedule strips = {};
  ResidentTileSchedule resident_tiles = {};
  std::vector<Schedule> sections =
      {};  ///< of a horizontally fused kernel, one for each; all have its threads

  /// Blocks that share one row.
  int blocks_per_row() const { return joins_columns ? 1 : cluster; }
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Schedules that kernels which are alike share.
class SharedSchedules {
 public:
  SharedSchedules() = default;
  explicit SharedSchedules(std::vector<Schedule> list)
      : list_(std::make_shared<const std::vector<Schedule>>(std::move(list))) {}

  const std::vector<Schedule>& list() const {
    static const std::vector<Schedule> none;
    return list_ ? *list_ : none;
  }
  auto begin() const { return list().begin(); }
  auto end() const { return list().end(); }
  std::size_t size() const { return list().size(); }
  bool empty() const { return list().empty(); }
  const Schedule& front() const { return list().front(); }
  friend bool operator==(const SharedSchedules& a, const SharedSchedules& b) {
    return a.list() == b.list();
  }

 private:
  std::shared_ptr<const std::vector<Schedule>> list_;
};

/// `threads 256, vector 4, unroll 2`: as in head comments and tuning tables.
std::string to_string(const Schedule& schedule);

}  // namespace sinter
