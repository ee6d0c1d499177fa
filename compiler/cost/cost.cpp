#include "compiler/cost/cost.h"

#include <algorithm>
#include <limits>

#include "compiler/body/access.h"
#include "compiler/body/footprint.h"
#include "compiler/body_building/build_body.h"
#include "compiler/candidates/column_candidates.h"
#include "compiler/candidates/row_column_candidates.h"
#include "compiler/program/op_cost.h"
#include "compiler/target/wave_quantization.h"
#include "compiler/tiling/kernel_kind.h"
#include "compiler/tiling/row_residency.h"
#include "compiler/tiling/row_staging.h"

namespace sinter {

namespace {

/// For each value of a body without a reduction, the number of times it is computed per element. A
/// value that is constant along the last axis is computed once per vector.
std::vector<double> shares_of_vectors(const Body& body, const Facts& facts) {
  constexpr double kVector = 8;
  std::vector<double> shares(body.values.size(), 1);
  int last = body.parallel_axes - 1;
  while (last > 0 && body.space.extent(last).is(1)) --last;
  if (body.has_reduced_axis || last < 0) return shares;
  const double shared =
      1 / std::clamp<double>(static_cast<double>(evaluate(body.space.extent(last), facts.symbols)),
                             1, kVector);
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    bool moves = depends_on(value.at, last);
    for (const Condition& condition : value.conditions) moves |= depends_on(condition.at, last);
    for (const int operand : value.operands)
      moves |= shares[static_cast<std::size_t>(operand)] == 1;
    shares[i] = moves ? 1 : shared;
  }
  return shares;
}

}  // namespace

double seconds_of(const Cost& cost, const Target& target, double busy, double moving) {
  if (moving < 0) moving = (cost.bytes_read + cost.bytes_written) / target.bandwidth;
  return target.launch_seconds + std::max(moving, cost.instructions / issue_rate(target)) / busy;
}

namespace {

/// Adds the traffic of column states. A kernel that reduces rows and columns writes the states of
/// its splits to the workspace and reads them back. Returns the fraction of SMs that have work.
double add_columns(Cost& cost, const Body& body, const Target& target, const Facts& facts) {
  if (body.columns.empty()) return 1;
  const std::vector<Schedule> schedules = row_column_candidates(body, target, facts);
  if (schedules.empty()) return 1;
  const Schedule& schedule = schedules.front();
  const double columns = static_cast<double>(evaluate(body.reduced_size(), facts.symbols));
  double bytes = 0;
  for (const BodyReduction& column : body.columns)
    bytes += columns * workspace_states(schedule) * state_bytes(*column.node);
  cost.bytes_read += bytes;
  cost.bytes_written += bytes;
  if (target.is_cpu) return 1;  // which has few threads
  return std::min(1.0, static_cast<double>(blocks_of(schedule)) / target.sm_count);
}

/// For each value, true if it is read from a row that an earlier pass staged in shared memory.
std::vector<bool> read_from_staged_rows(const Body& body, const Target& target,
                                        const Facts& facts) {
  std::vector<bool> result(body.values.size());
  if (!may_have_staged_rows(body) || !fits_resident(body, target, facts, 1)) return result;
  for (const StagedRow& row : staged_rows(body, plan_resident_passes(body), facts))
    for (const auto& [load, shift] : row.loads) result[static_cast<std::size_t>(load)] = true;
  return result;
}

}  // namespace

Cost cost_of(const Body& body, const Target& target, const Facts& facts) {
  Cost cost;
  const bool is_columns = reduces_columns(body, facts);
  ColumnPrediction columns;
  if (is_columns) columns = predict_columns(body, target, facts);
  const bool resident = !is_columns && (fits_resident(body, target, facts, target.max_cluster) ||
                                        !body.columns.empty());
  PassPlan plan;
  if (!resident && body.has_reduced_axis)
    plan = columns.is_resident ? plan_column_passes(body) : plan_passes(body);
  const std::vector<double> shares = shares_of_vectors(body, facts);
  const std::vector<bool> is_staged = is_columns || !resident
                                          ? std::vector<bool>(body.values.size())
                                          : read_from_staged_rows(body, target, facts);
  const double rows = static_cast<double>(evaluate(body.parallel_size(), facts.symbols));
  const double row = static_cast<double>(evaluate(body.reduced_size(), facts.symbols));
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    int times = 1;
    if (value.is_final)
      times = 1;
    else if (value.varies && !resident)
      times = loads_of(plan, i);
    if (value.kind == Value::Kind::load && !is_staged[i])
      cost.bytes_read += times * bytes_of(footprint_of(body, value).elements, value.dtype, facts);
    if (value.kind == Value::Kind::op)
      cost.instructions += times * instructions_of(value.node->op) * shares[i] *
                           (value.is_final ? 1.0 : rows) * (value.varies ? row : 1.0);
  }
  // Adding or comparing an element is hidden by its load, so only costlier reductions count.
  for (const BodyReduction& reduction : body.reductions)
    if (const int each = instructions_of(reduction.node->op); each > 1)
      cost.instructions += each * rows * row;
  for (const BodyReduction& column : body.columns)
    cost.instructions += instructions_of(column.node->op) * rows * row;
  for (const BodyStore& store : body.stores)
    cost.bytes_written += bytes_of(stored_elements(body, store), store.node->dtype, facts);
  for (const BodyReduction& reduction : body.finals) {
    const double bytes = rows * size_of(info(reduction.node->operand(0)->dtype).compute);
    cost.bytes_written += bytes;
    cost.bytes_read += bytes;
  }
  cost.bytes_written += columns.bytes_of_splits;
  cost.bytes_read += columns.bytes_of_splits;
  const double busy = add_columns(cost, body, target, facts);
  for (const Extent extent : body.at_least_one)
    if (evaluate(extent, facts.symbols) == 0) {
      cost.seconds = std::numeric_limits<double>::infinity();
      return cost;
    }
  cost.seconds = seconds_of(cost, target, busy, is_columns ? columns.seconds : -1);
  return cost;
}

Cost cost_of(const Program& program, const Kernel& kernel, const Target& target) {
  if (kernel.kind == KernelKind::opaque)
    return {.bytes_read = kernel.bytes, .seconds = kernel.seconds};
  if (kernel.sections.empty()) return cost_of(body_of(program, kernel), target, program.facts);
  Cost sum{.seconds = target.launch_seconds};
  for (const Kernel& section : kernel.sections) {
    const Cost cost = cost_of(body_of(program, section), target, program.facts);
    sum.bytes_read += cost.bytes_read;
    sum.bytes_written += cost.bytes_written;
    sum.instructions += cost.instructions;
    sum.seconds += cost.seconds - target.launch_seconds;
  }
  if (!kernel.has_tail) sum.seconds += target.barrier_seconds * (phases(kernel) - 1);
  return sum;
}

}  // namespace sinter
