#include "compiler/candidates/register_estimate.h"

#include <algorithm>
#include <bit>

#include "compiler/candidates/candidate_list.h"
#include "compiler/program/op_cost.h"
#include "compiler/tiling/column_split.h"
#include "ir/support/round_up.h"

namespace sinter {

std::int64_t pointwise_registers(std::int64_t bytes, std::int64_t loads) {
  return 16 + bytes * (loads + 1) / 4;
}

std::int64_t column_registers(const Body& body, const Tree& tree, const Schedule& schedule,
                              std::int64_t state_bytes, std::int64_t loaded_bytes) {
  const bool is_heavy = std::ranges::any_of(body.reductions, [](const BodyReduction& reduction) {
    return reduction.node->op == Op::logsumexp;
  });
  const ColumnSplit split = split_of(tree, schedule);
  const int lanes = schedule.threads_per_row / schedule.groups;
  const auto levels = static_cast<std::int64_t>(
      std::bit_width(static_cast<std::uint64_t>(split.accumulators / lanes)) +
      std::bit_width(static_cast<std::uint64_t>(split.parts / schedule.groups)));
  const std::int64_t rows = kChunk * schedule.unroll;
  return (is_heavy ? 48 : 32) +
         schedule.vector * (state_bytes * (levels + 2) + rows * loaded_bytes) / 4;
}

std::int64_t row_column_registers(const Body& body, const Tree& row_tree, const Schedule& schedule,
                                  std::int64_t element_bytes, std::int64_t accumulators,
                                  bool is_masked) {
  constexpr std::int64_t kForTheRest = 22;
  constexpr std::int64_t kForRows = 8;
  constexpr std::int64_t kForMoreSums = 8;
  constexpr std::int64_t kForGuards = 24;  // for masked tails
  return vectors_per_thread(row_tree, schedule) * schedule.vector * element_bytes / 4 +
         kForTheRest + kForRows * schedule.unroll + (is_masked ? kForGuards : 0) +
         kForMoreSums * (static_cast<std::int64_t>(body.columns.size()) - 1) +
         accumulators * row_tree.accumulators * schedule.groups / schedule.threads_per_row;
}

RowRegisters::RowRegisters(const Body& body, const Tree& tree, const PassPlan& plan,
                           const Facts& facts)
    : body_(body),
      tree_(tree),
      facts_(facts),
      kept_bytes_(kept_bytes_per_element(body, plan)),
      state_registers_(std::ranges::max(sums_by_pass(body, state_bytes)) / 4) {
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    if (value.kind != Value::Kind::load) continue;
    if (std::ranges::binary_search(plan.kept, static_cast<int>(i))) kept_loads_.push_back(&value);
    if (!plan.needed[0][i]) continue;
    first_pass_loads_.push_back(&value);
    read_bytes_ += size_of(value.dtype);
  }
}

std::int64_t RowRegisters::kept_bytes_in_vectors(int vector) const {
  std::int64_t bytes = kept_bytes_;
  for (const Value* load : kept_loads_)
    bytes += of_vector(*load, vector) * 4 / vector - size_of(load->dtype);
  return bytes;
}

std::int64_t RowRegisters::of_loads(int vector) const {
  std::int64_t registers = 0;
  for (const Value* load : first_pass_loads_) registers += of_vector(*load, vector);
  return registers;
}

/// Each access takes at least one register.
std::int64_t RowRegisters::of_vector(const Value& load, int vector) const {
  const std::int64_t size = size_of(load.dtype);
  const int each = widest_access(load.at, load.dtype, load.aligned * size, body_.reduced_size(),
                                 body_.reduced_axis(), vector, facts_);
  return vector / each * std::max<std::int64_t>(divide_up(each * size, 4), 1);
}

std::int64_t RowRegisters::of_data(const Schedule& schedule) const {
  constexpr std::int64_t kLoadedRegisters = 16;  // of rows that are not resident
  if (schedule.resident)
    return vectors_per_thread(tree_, schedule) * schedule.vector * kept_bytes_ / 4;
  const std::int64_t of_part = tree_.accumulators * schedule.groups / schedule.threads_per_row;
  return std::min(of_part * kChunk * largest_element_along(body_, body_.reduced_axis()) *
                      std::max(full_loads(body_), 1) / 4,
                  kLoadedRegisters);
}

std::int64_t RowRegisters::of_thread(const Schedule& schedule, std::int64_t data) const {
  constexpr std::int64_t kBare = 16;        // without data and states
  constexpr std::int64_t kHeavyState = 16;  // to accumulate an element
  const std::int64_t of_part = tree_.accumulators * schedule.groups / schedule.threads_per_row;
  const std::int64_t parts =
      schedule.splits_rows ? 1 : tree_.parts / (schedule.groups * schedule.cluster);
  return kBare + data + state_registers_ * (of_part + (parts > 1 ? parts : 0)) +
         (has_heavy_state(body_) ? kHeavyState : 0);
}

std::int64_t RowRegisters::of_states(const Schedule& schedule) const {
  return state_registers_ * tree_.accumulators * schedule.groups / schedule.threads_per_row;
}

}  // namespace sinter
