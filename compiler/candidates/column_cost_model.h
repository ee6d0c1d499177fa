// What a schedule of a column kernel takes of an SM, and how long it is predicted to run.
#pragma once

#include "compiler/body/access.h"
#include "compiler/body/body.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/program/kernel.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/target/target.h"
#include "compiler/target/wave_quantization.h"

namespace sinter {

/// What splits, or reading again, must be worth: more than the model's errors.
inline constexpr double kModelMargin = 1.1;

class ColumnModel {
 public:
  ColumnModel(const Body& body, const Target& target, const Facts& facts);

  /// True if a block has as much shared memory as the schedule needs, and a thread the registers.
  bool fits(const Schedule& schedule) const;
  bool fits_shared(const Schedule& schedule) const;
  /// Blocks that share all columns side by side, before rows are dealt out to splits.
  std::int64_t tiles(const Schedule& schedule) const;
  /// Bytes of loads per SM, as far as the memory can make use of them.
  double bytes_in_flight(const Schedule& schedule) const;
  /// Without the launch: bytes against the bandwidth that so many in flight reach. What is read
  /// again comes from the L2 cache where all that the kernel touches fits there.
  double seconds(const Schedule& schedule) const;
  /// The same, where a last, partial wave of blocks is slower than those before it.
  double seconds_in_waves(const Schedule& schedule) const;
  /// The blocks that the compiler is to leave registers for; without being told it would rather
  /// spill than have fewer blocks, even if there are no more. 0: as it likes, since they may not
  /// fit.
  int planned_blocks(const Schedule& schedule) const;
  /// Bytes of what is kept between passes, of one element; 0: nothing may be.
  std::int64_t kept_bytes() const { return kept_bytes_; }
  /// States that splits leave in the workspace.
  double bytes_of_splits(const Schedule& schedule) const;

  const Sizes& sizes() const { return sizes_; }
  /// Bytes of the smallest and of the largest element that is loaded or stored row by row.
  int narrowest() const { return narrowest_; }
  int widest() const { return widest_; }
  const Tree& tree() const { return tree_; }
  std::int64_t inner() const { return inner_; }  ///< extent of the last axis that stays
  std::int64_t outer() const { return outer_; }  ///< of all others that stay

 private:
  void note_size(int bytes);
  double blocks_per_sm_of(const Schedule& schedule) const;
  int blocks_that_fit(const Schedule& schedule) const;
  std::int64_t registers(const Schedule& schedule) const;
  std::int64_t most_registers(int threads) const;
  std::int64_t shared_bytes(const Schedule& schedule) const;
  double bytes_per_block(const Schedule& schedule) const;
  Grid grid(const Schedule& schedule) const;
  double seconds(const Schedule& schedule, const Grid& grid) const;
  double share_of_sectors(const Schedule& schedule) const;

  const Body& body_;
  const Target& target_;
  Sizes sizes_;
  Tree tree_;
  std::int64_t inner_ = 1;
  std::int64_t outer_ = 1;
  /// What is loaded row by row.
  struct Load {
    int bytes = 0;         ///< of an element
    std::int64_t row = 0;  ///< bytes from one row to the next, at most a sector
  };
  std::vector<Load> loads_;
  std::int64_t loaded_bytes_ = 0;  ///< of an element of each
  int narrowest_ = 8;
  int widest_ = 1;
  std::int64_t state_bytes_ = 0;  ///< of all reductions of one pass, at most
  std::int64_t widest_state_ = 0;
  bool is_heavy_ = false;
  std::int64_t kept_bytes_ = 0;
  int meetings_ = 0;       ///< of the blocks that share columns: passes with reductions
  double read_bytes_ = 0;  ///< at least
  double stored_bytes_ = 0;
  double again_bytes_ = 0;  ///< read by later passes if nothing is kept
};

/// Of each value, how many passes of `plan` load it.
int loads_of(const PassPlan& plan, std::size_t value);

/// What is predicted of the first candidate of a column kernel.
struct ColumnPrediction {
  bool is_resident = false;
  double seconds = 0;          ///< without the launch
  double bytes_of_splits = 0;  ///< written to the workspace, and read
};
/// Needs: collapsed axes.
ColumnPrediction predict_columns(const Body& body, const Target& target, const Facts& facts);

}  // namespace sinter
