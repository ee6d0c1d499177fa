// The cost model of column kernels: shared memory, loads in flight and predicted time.
#pragma once

#include "compiler/body/access.h"
#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/target/target.h"
#include "compiler/target/wave_quantization.h"

namespace sinter {

/// Splits, or reading again, must be faster by this factor, which exceeds the model's errors.
inline constexpr double kModelMargin = 1.1;

class ColumnCostModel {
 public:
  ColumnCostModel(const Body& body, const Target& target, const Facts& facts);

  /// True if the schedule fits in the shared memory of a block and in the registers of its threads.
  bool fits(const Schedule& schedule) const;
  bool fits_shared(const Schedule& schedule) const;
  /// The number of tiles of columns: blocks that cover all columns, without splits of the rows.
  std::int64_t tiles(const Schedule& schedule) const;
  /// Bytes of loads in flight per SM, at most as many as the target needs.
  double bytes_in_flight(const Schedule& schedule) const;
  /// The predicted time without the launch: bytes over the bandwidth that the loads in flight
  /// reach. Repeated reads come from the L2 cache if all data of the kernel fits in it.
  /// `with_last_wave`: includes the slower last, partial wave of blocks.
  double seconds(const Schedule& schedule, bool with_last_wave = false) const;
  /// Blocks per SM for which the compiler must reserve registers. Without this bound the compiler
  /// prefers spills to fewer blocks, even if the grid has no more blocks. 0: no bound, because the
  /// blocks may not fit.
  int reserved_blocks_per_sm(const Schedule& schedule) const;
  /// Bytes per element that stay resident between passes; 0: no value can.
  std::int64_t kept_bytes() const { return kept_bytes_; }
  /// Bytes of the states that splits write to the workspace.
  double bytes_of_splits(const Schedule& schedule) const;

  /// Bytes of the smallest and of the largest element that is loaded or stored in every row.
  int narrowest() const { return narrowest_; }
  int widest() const { return widest_; }
  const Tree& tree() const { return tree_; }
  std::int64_t inner() const { return inner_; }  ///< extent of the last kept axis
  std::int64_t outer() const { return outer_; }  ///< product of the other kept extents

  /// The time of reading, as a multiple of that with long segments. Blocks read segments of
  /// adjacent bytes from row to row, and short ones keep the L2 cache busier. On an H200, a sum
  /// over 65,536 rows takes 241 us with segments of 128 bytes, 283 with 64 and 382 with 32.
  double cost_of_segments(const Schedule& schedule) const;
  /// An estimate for resident columns: the cost of their segments, and of blocks that are alone on
  /// their SM, which load nothing while they compute. It fits a var_mean over 4,096 rows on an
  /// H200.
  double cost_of_residency(const Schedule& schedule) const;

 private:
  void note_size(int bytes);
  double blocks_per_sm_of(const Schedule& schedule) const;
  int blocks_that_fit(const Schedule& schedule) const;
  std::int64_t registers(const Schedule& schedule) const;
  std::int64_t max_registers(int threads) const;
  std::int64_t shared_bytes(const Schedule& schedule) const;
  double bytes_per_block(const Schedule& schedule) const;
  Grid grid(const Schedule& schedule) const;
  double share_of_sectors(const Schedule& schedule) const;

  const Body& body_;
  const Target& target_;
  Tree tree_;
  std::int64_t inner_ = 1;
  std::int64_t outer_ = 1;
  /// A load in every row.
  struct Load {
    int bytes = 0;         ///< of an element
    std::int64_t row = 0;  ///< bytes from one row to the next, at most a sector
  };
  std::vector<Load> loads_;
  std::int64_t bytes_per_row_element_ = 0;  ///< sum of their element sizes
  int narrowest_ = 8;
  int widest_ = 1;
  std::int64_t state_bytes_ = 0;  ///< of all reductions of one pass; maximum over passes
  std::int64_t widest_state_ = 0;
  std::int64_t kept_bytes_ = 0;
  int cluster_exchanges_ = 0;  ///< exchanges of blocks that share columns: passes with reductions
  double read_bytes_ = 0;      ///< each element once
  double stored_bytes_ = 0;
  double reread_bytes_ = 0;  ///< read again by later passes if nothing is resident
};

}  // namespace sinter
