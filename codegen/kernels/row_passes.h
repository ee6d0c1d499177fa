// Writes the passes of the threads of a row over the reduced axis.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernels/reduction_loops.h"
#include "codegen/kernels/shared_staging.h"
#include "codegen/statements/kernel_writer.h"

namespace sinter {

class RowPasses {
 public:
  explicit RowPasses(KernelWriter& writer);

  /// Variable that is true if this thread's row exists; empty: it always does.
  std::string live;

  /// Declares `Shape`, the exchange (`at_least` so many bytes per use) and variables that depend on
  /// symbols.
  void declare_shape(std::int64_t at_least);
  /// Declares arrays for values that stay in registers or shared memory between passes.
  void declare_kept_values();
  /// Writes those loads of the first pass that later passes keep.
  void write_kept_loads();
  /// Writes all passes and the stores of row results. `loads_done`: all kept loads have been made.
  void write(bool loads_done = false);

  // For threads that process many rows, called in this order:
  /// Loads the elements that are equal in all rows, which stay in registers.
  void write_common_loads();
  /// Declares arrays for the kept values of `rows` rows, which are loaded at once.
  void declare_rows(int rows);
  /// Writes all loads of one row.
  void write_row_loads();
  /// Before the first row: waits until all blocks of the cluster have started, if they share rows.
  void await_cluster();

  /// The condition that selects the thread that stores row results.
  std::string first_of_row() const;
  /// Sets Source::has_met and ends_met of a kernel that ends with write().
  void set_meeting() const;
  /// Uses of the exchange.
  std::int64_t exchange_uses() const;
  /// Bytes of one use, if only the row's own reductions use it.
  std::int64_t exchange_bytes() const;
  /// Writes a loop over this thread's vectors of the row, guarded by the positions that exist.
  void for_each_vector(const std::function<void(const Tile&)>& inside);
  /// The index of element `k` of a vector among the row's elements that this thread holds.
  std::string held_index() const;
  /// Elements of a row that one thread holds.
  std::int64_t held_elements() const;

 private:
  /// True if each reduction has a block barrier.
  bool meets() const;
  bool keeps_in_registers() const;
  bool has_first_column() const;
  void declare_first_column();
  std::string column_text() const;
  void in_tile(const std::function<void(const Tile&)>& inside, const TileLoop& loop);
  /// Values that an earlier pass kept and `pass` needs.
  std::vector<int> kept_before(int pass) const;
  void declare_kept(std::span<const int> values, int rows);
  /// True for a store of a constant to the first positions of a row, at most one per thread. The
  /// passes leave it out, because every tile would have to test its condition.
  bool is_prefix_constant_store(const BodyStore& store) const;
  void write_prefix_constants();
  void write_shared_tile(int pass, const Sinks& sinks, const Tile& tile);
  /// Rows in shared memory that later passes read at shifted positions (row_staging.h).
  void declare_staged_rows();
  void write_staged_rows();
  void write_prefetches(std::span<const int> loads);
  void write_first_loads(std::span<const int> kept);
  void write_loads(std::span<const int> kept);
  void write_pass(int pass, bool loads_done);
  void write_guarded(const std::vector<bool>& values, const Sinks& sinks, const Tile& tile);
  void finish_reduction(int index);

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  SharedStaging shared_;
  TreePlan plan_;
  PassPlan passes_;
  std::vector<int> kept_of_rows_;
  int words_ahead_ = 0;  ///< registers that the first pass uses for loads made ahead.
  /// Kept loads that are also written to shared memory, with the pointer to their row there.
  std::vector<std::pair<int, std::string>> staged_;
};

}  // namespace sinter
