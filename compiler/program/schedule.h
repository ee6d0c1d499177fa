// The schedule of a kernel: which threads compute which part of its iteration space. A schedule
// never changes the result.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sinter {

/// Of a horizontally fused kernel: the resident tiles of its operands that blocks keep across
/// phases (resident_tiles.h).
struct ResidentTileSchedule {
  int channels = 0;  ///< per resident tile; 0: no resident tiles
  /// The number of arrays with resident tiles: the first ones of `ResidentTiles::arrays`.
  int arrays = 0;
  int per_block = 0;  ///< resident tiles that fit one block
  /// Only the first tiles of each round stay: this many, as long as they fit. Sections read and
  /// write the rest in memory. 0: all tiles stay.
  std::int64_t kept = 0;
  int rounds = 1;  ///< tile rounds over all phases, each for some of the channels.
  /// A block runs one resident tile at a time through all phases that need no other tiles. It
  /// therefore needs shared memory for one tile only (local_tiles.h).
  bool is_local = false;
  /// The number of equal units of memory that each array consists of, in any layout
  /// within a unit. 0: the arrays have the shape outer × channels × rows.
  std::int64_t units = 0;

  explicit operator bool() const { return channels > 0; }
  friend bool operator==(const ResidentTileSchedule&, const ResidentTileSchedule&) = default;
};

/// The order in which a section of a horizontally fused kernel visits rows of outer × channels. It
/// visits all outer positions of one strip of channels, then the next strip (resident_tiles.h).
struct StripSchedule {
  int channels = 0;  ///< per strip; 0: rows in the order of the body
  int outer = 1;     ///< outer positions

  explicit operator bool() const { return channels > 0; }
  friend bool operator==(const StripSchedule&, const StripSchedule&) = default;
};

/// The instructions that copy contiguous operands to shared memory ahead of their use.
enum class Copies : std::uint8_t {
  none,    ///< loads go to registers
  thread,  ///< each thread copies its own vectors: cp.async, from sm_80 on
  bulk,    ///< one thread copies the tiles of its block: cp.async.bulk, from sm_90 on
};

/// A schedule affects speed only: all schedules of a kernel give the same bits.
struct Schedule {
  int threads = 256;  ///< per block
  int vector = 1;     ///< consecutive elements per load and store
  /// Pointwise: vectors per thread. Rows: vectors of a row loaded at once in loops over it. Rows
  /// and columns: rows loaded at once. Columns: chunks of a column loaded at once.
  int unroll = 1;
  int threads_per_row = 1;  ///< reductions: threads that share one row (or column)
  int rows_per_block = 1;   ///< reductions: rows (or columns of vectors) per block
  int groups = 1;           ///< reductions: groups of threads of one row, each with its own parts
  /// The row is read once and stays in registers. A scatter keeps its rows in shared memory.
  bool resident = false;
  /// The resident row is in shared memory, because registers cannot hold it.
  bool in_shared = false;
  /// Blocks of a cluster, which run at once and share one row, or the rows of the same columns.
  /// Each block computes its own parts of the tree; they exchange results through distributed
  /// shared memory.
  int cluster = 1;
  /// Rows and columns: each block of a cluster has its own rows, and the cluster combines the
  /// column states.
  bool combines_columns = false;
  /// Column reductions: subtrees of the rows, in different blocks. Rows and columns: the threads of
  /// a row compute one subtree.
  int splits = 1;
  /// Occupancy that the compiler must reserve registers for; 0: compiler's choice.
  int blocks_per_sm = 0;
  /// The parts of one row are spread over many blocks; the last block finishes.
  bool splits_rows = false;
  bool has_hints = false;  ///< loads tell the caches which data will be read again
  /// Pointwise: a block owns tile × tile positions. Accesses that are contiguous along the other of
  /// the two axes use tiles in shared memory (transpose_tiles.h). Rows: adjacent rows per block
  /// whose results are stored across rows (row_store_tiles.h). 0: no tiles.
  int tile = 0;
  /// Pointwise: vectors run along the flattened iteration space and may cross the ends of rows
  /// whose length is no multiple of the vector. Other layouts use narrower loads, as wide as the
  /// row length allows.
  bool is_flat = false;
  /// Contiguous operands are copied to tiles in shared memory, `stages` tiles ahead. A tile has one
  /// vector of each thread, or the rows that the threads of a block compute at once. A block has
  /// `unroll` tiles (copied_loads.h).
  Copies copies = Copies::none;
  int stages = 0;
  /// Of a section of a horizontally fused kernel: no block crosses a multiple of this along the
  /// last axis that is split over blocks. (That axis: rows, columns, the tiled axis, or elements.)
  /// The block stops there even if it could do more work. 0: no limit (resident_tiles.h).
  int block_limit = 0;
  StripSchedule strips = {};
  ResidentTileSchedule resident_tiles = {};
  std::vector<Schedule> sections =
      {};  ///< of a horizontally fused kernel: one per section, all with its `threads`

  /// For CPUs: one thread per block, whose loops over the elements of a vector the host compiler
  /// vectorises. Vectors are longer than 16 bytes then, and may end anywhere.
  bool is_for_cpu() const { return threads == 1; }
  /// Blocks that share one row.
  int blocks_per_row() const { return combines_columns ? 1 : cluster; }
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// An immutable list of schedules that equal kernels share.
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

/// Formats a schedule for head comments and tuning tables: `threads 256, vector 4, unroll 2`.
std::string to_string(const Schedule& schedule);

}  // namespace sinter
