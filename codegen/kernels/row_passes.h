// What the threads of a row do with it, whichever row it is: its passes over the reduced axis.
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

  /// The condition that this thread's row exists, as a variable; empty: it does.
  std::string live;

  /// `Shape`, the exchange (with as many bytes to a use, at least) and what follows from symbols.
  void declare_shape(std::int64_t exchange_bytes);
  /// Arrays for what stays in registers between passes.
  void declare_kept_values();
  /// All passes, and the stores of what is one per row. `loads_done`: all its loads were made.
  void write(bool loads_done = false);

  // Of threads that go through many rows, in this order:
  /// Loads of what is the same in all rows, and stays in registers.
  void write_common_loads();
  /// Arrays for what `rows` rows keep, to be loaded at once.
  void declare_rows(int rows);
  /// All loads of one row.
  void write_row_loads();
  /// In front of the first of them, where blocks share rows: until all of these have started.
  void await_cluster();

  /// Which thread stores what is one per row.
  std::string first_of_row() const;
  /// Writes a loop over this thread's vectors of the row, with what exists of each.
  void for_each_vector(const std::function<void(const Tile&)>& inside);
  /// The number of element `k` of a vector among those of the row that this thread holds.
  std::string held_place() const;
  /// How many elements of a row a thread holds.
  std::int64_t held() const;

 private:
  bool keeps_in_registers() const;
  bool has_first_column() const;
  void declare_first_column();
  std::string column_text() const;
  void in_tile(const std::function<void(const Tile&)>& inside, const TileLoop& loop);
  std::vector<int> columns_of_pass(int pass) const;
  /// Values that `pass` needs and an earlier one left.
  std::vector<int> kept_before(int pass) const;
  void declare_cluster();
  void declare_kept(std::span<const int> values, int rows);
  void declare_shared_values();
  /// True for a number that no more places of the row store than it has threads: it is none of the
  /// passes' work, whose every tile would have to ask.
  bool is_for_few_places(const BodyStore& store) const;
  void write_numbers_of_few_places();
  void write_shared_tile(int pass, const Sinks& sinks, const Tile& tile);
  /// Rows in shared memory for what later passes read at other places.
  void declare_staged_rows();
  void write_staged_rows();
  bool is_common(int value) const;
  void write_loads(std::span<const int> kept);
  void write_pass(int pass, bool loads_done);
  void write_guarded(const std::vector<bool>& values, const Sinks& sinks, const Tile& tile);
  std::string tree_name(int index) const;
  void finish_reduction(int index);

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  SharedStaging shared_;
  TreePlan plan_;
  PassPlan passes_;
  std::vector<int> kept_of_rows_;
  int words_ahead_ = 0;  ///< registers for what a pass loads at once
  /// Kept loads that are left in shared memory as well, with the pointer to their row there.
  std::vector<std::pair<int, std::string>> staged_;
};

}  // namespace sinter
