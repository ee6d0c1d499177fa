// What the threads of a row do with it, whichever row it is: its passes over the reduced axis.
#pragma once

#include <functional>
#include <string>

#include "codegen/kernel_writer.h"
#include "codegen/reduction_loops.h"

namespace sinter {

class RowPasses {
 public:
  explicit RowPasses(KernelWriter& writer);

  /// The condition that this thread's row exists, as a variable; empty: it does.
  std::string live;

  /// `Shape`, the exchange (with as many bytes to a use, at least) and what follows from symbols.
  void declare_shape(std::int64_t exchange_bytes);
  /// Arrays for what stays in registers between passes, of `rows` rows each.
  void declare_kept_values(int rows = 1);
  /// All loads of the row that are kept from the first pass on.
  void write_first_loads();
  /// All passes, and the stores of what is one per row. `loads_done`: as above, for this row.
  void write(bool loads_done = false);
  /// Which thread stores what is one per row.
  std::string first_of_row() const;
  /// Writes a loop over this thread's vectors of the row, with what exists of each.
  void for_each_vector(const std::function<void(const Tile&)>& inside);
  /// The number of element `k` of a vector among those of the row that this thread holds.
  std::string held_place() const;
  /// How many elements of a row a thread holds.
  std::int64_t held() const;

 private:
  void in_tile(const std::function<void(const Tile&)>& inside, const std::string& accumulator);
  std::vector<int> columns_of_pass(int pass) const;
  void write_loads(std::span<const int> kept);
  void write_pass(int pass, bool loads_done);
  void write_guarded(const std::vector<bool>& values, const Sinks& sinks, const Tile& tile);
  std::string tree_name(int index) const;
  void finish_reduction(int index);

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  TreePlan plan_;
  PassPlan passes_;
};

}  // namespace sinter
