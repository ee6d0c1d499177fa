// Estimates the registers of a thread of each kernel kind, before the kernel is compiled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/body/access.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/program/schedule.h"

namespace sinter {

/// Pointwise kernels: a thread holds `bytes` of each of `loads` loads and of a store.
std::int64_t pointwise_registers(std::int64_t bytes, std::int64_t loads);

/// Column kernels: pending states, the rows of every load in flight, and the rest of the loop. The
/// pending states are one per level of the reduction tree, and two that are combined.
/// `state_bytes` and `loaded_bytes` are those of one column.
std::int64_t column_registers(const Body& body, const Tree& tree, const Schedule& schedule,
                              std::int64_t state_bytes, std::int64_t loaded_bytes);

/// Kernels that reduce rows and columns. `element_bytes`: of the states of a column, kept values
/// and loads in flight. `accumulators`: registers of an accumulator, in the pass that reduces most.
/// `is_masked`: vectors may cross the end of the row.
std::int64_t row_column_registers(const Body& body, const Tree& row_tree, const Schedule& schedule,
                                  std::int64_t element_bytes, std::int64_t accumulators,
                                  bool is_masked);

/// Kernels that reduce rows.
class RowRegisters {
 public:
  RowRegisters(const Body& body, const Tree& tree, const PassPlan& plan, const Facts& facts);

  /// Bytes of the kept values, per row element.
  std::int64_t kept_bytes() const { return kept_bytes_; }
  /// The same in registers. Elements loaded one by one take a whole register each until the row is
  /// complete.
  std::int64_t kept_bytes_in_vectors(int vector) const;
  /// Bytes that the first pass loads per row element.
  std::int64_t read_bytes() const { return read_bytes_; }
  /// A vector of every load of the first pass.
  std::int64_t of_loads(int vector) const;
  /// The share of a resident row, or the loads of other rows.
  std::int64_t of_data(const Schedule& schedule) const;
  /// A whole thread with `data` registers of data.
  std::int64_t of_thread(const Schedule& schedule, std::int64_t data) const;
  /// The accumulators of a pass, with masked tails.
  std::int64_t of_accumulators(const Schedule& schedule) const {
    return of_states(schedule) + of_tail(schedule, 40);
  }
  /// A thread without kept values and loads in flight. 40 registers include 16 for accumulators.
  std::int64_t of_others(const Schedule& schedule) const {
    return 40 + std::max<std::int64_t>(of_states(schedule) - 16, 0) + of_tail(schedule, 40);
  }
  /// A thread that loops over its row, without its loads in flight: at least 50.
  std::int64_t of_loop(const Schedule& schedule) const {
    return 40 + std::max<std::int64_t>(of_states(schedule) - 16, 10) + of_tail(schedule, 16);
  }

 private:
  std::int64_t of_vector(const Value& load, int vector) const;
  std::int64_t of_states(const Schedule& schedule) const;
  /// `registers` if the last vector of a row is masked; else 0.
  std::int64_t of_tail(const Schedule& schedule, std::int64_t registers) const {
    return tree_.extent % schedule.vector == 0 ? 0 : registers;
  }

  const Body& body_;
  const Tree& tree_;
  const Facts& facts_;
  std::int64_t kept_bytes_;
  std::int64_t read_bytes_ = 0;
  std::int64_t state_registers_;  ///< of one accumulator of each reduction of a pass, at most
  std::vector<const Value*> kept_loads_;
  std::vector<const Value*> first_pass_loads_;  ///< loads of the first pass along rows
};

}  // namespace sinter
