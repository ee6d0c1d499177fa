#include "compiler/cost.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/access.h"
#include "compiler/column_model.h"
#include "compiler/row_column.h"
#include "compiler/schedule_kernel.h"
#include "compiler/staged_rows.h"
#include "compiler/touched.h"
#include "compiler/tree.h"
#include "compiler/waves.h"

namespace sinter {

namespace {

/// What the registers of one block keep of a row: 64 in each of 512 threads.
constexpr std::int64_t kResidentBytes = 128 * 1024;
/// Shared memory that reductions take for themselves.
constexpr std::int64_t kExchangeBytes = 16 * 1024;

/// Of each value, how often it is computed per element of a body without a reduction: once for a
/// whole vector of those along the last axis, where it is the same for all of them.
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

int instructions_of(Op op) {
  switch (op) {
    case Op::lgamma:
    case Op::digamma: return 150;
    case Op::pow:
    case Op::philox: return 60;
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::atan2:
    case Op::hypot:
    case Op::cbrt:
    case Op::fmod:
    case Op::remainder:
    case Op::floordiv:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::tanh:
    case Op::erf:
    case Op::erfc:
    case Op::erfinv: return 30;
    case Op::logsumexp:
    case Op::expm1:
    case Op::log1p: return 20;
    case Op::exp:
    case Op::exp2:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::div:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::nextafter: return 12;
    case Op::maximum:
    case Op::minimum: return 3;
    default: return 1;
  }
}

bool fits_resident(const Body& body, const Target& target) {
  return fits_resident(body, target, target.max_cluster);
}

bool fits_resident(const Body& body, const Target& target, int most_blocks) {
  if (!body.has_reduced_axis || body.passes() == 1 || !body.reduced_size().is_number())
    return false;
  const std::int64_t extent = body.reduced_size().number();
  const std::int64_t blocks = std::min<std::int64_t>(most_blocks, tree_of(extent).parts);
  // Where everything could be kept, what is kept need not be found out.
  std::int64_t all = 0;
  for (const Value& value : body.values)
    if (value.varies) all += kept_bytes(value);
  if (extent * all <= blocks * kResidentBytes) return true;
  const PassPlan plan = plan_resident_passes(body);
  if (extent * kept_bytes_per_element(body, plan) <= blocks * kResidentBytes) return true;
  const std::vector<int> slots = kept_slots(body, plan).bytes;
  const std::int64_t bytes = std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
  return extent * bytes <= blocks * (target.shared_per_block_opt_in - kExchangeBytes);
}

double bytes_of(Extent elements, DType dtype, const Facts& facts) {
  return static_cast<double>(evaluate(elements, facts.symbols)) * size_of(dtype);
}

int state_bytes(const Node& reduction) {
  const int size = size_of(info(reduction.operand(0)->dtype).compute);
  switch (reduction.op) {
    case Op::argmax:
    case Op::argmin: return 16;
    case Op::welford: return 3 * size;
    case Op::logsumexp: return 2 * size;
    default: return size;
  }
}

bool deals_out_rows(std::int64_t rows, std::int64_t extent, const Target& target) {
  return tree_of(extent).parts > 1 && rows * 2 <= target.sm_count;
}

namespace {

/// Rows that clusters keep, read by `blocks` SMs, against rows whose parts all SMs read once for
/// every pass, the later times from the L2 cache, with a barrier of the grid in between.
bool are_kept_sooner(const Body& body, std::int64_t blocks, std::int64_t parts,
                     const Target& target, const Facts& facts) {
  if (blocks == 0) return false;
  constexpr double kLoadsOfKeeper = 32 << 10;  // bytes that a block has in flight, of a row …
  constexpr double kLoadsOfPart = 8 << 10;     // … and of a part
  double read = 0;
  double stored = 0;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load && value.varies)
      read += bytes_of(touched_elements(body, value).elements, value.dtype, facts);
  for (const BodyStore& store : body.stores)
    stored += bytes_of(stored_elements(body, store), store.node->dtype, facts);
  const auto seconds = [&](std::int64_t count, double loads, double nearer) {
    const Grid grid{.blocks_per_sm = static_cast<double>(count) / target.sm_count,
                    .resident = target.max_threads_per_sm / 256,
                    .bytes_in_flight = std::min(loads, read / static_cast<double>(count))};
    return read / target.bandwidth * slowdown(target, grid, nearer);
  };
  const auto storing = [&](std::int64_t count) {
    return stored / (target.bandwidth *
                     std::min(kStores * static_cast<double>(count) / target.sm_count, 1.0));
  };
  const double later = body.passes() - 1;
  const double kept = seconds(blocks, kLoadsOfKeeper, 1) + storing(blocks) +
                      (target.max_cluster > 1 ? kClusterBarrierSeconds * (later + 1) : 0);
  const double split =
      seconds(parts, kLoadsOfPart, 1) + storing(parts) +
      later * (seconds(parts, kLoadsOfPart, kNearLoads) / kNearSpeed + target.barrier_seconds) +
      kTicketSeconds * (later + 1);
  return kept <= split;
}

}  // namespace

bool wants_split(const Body& body, const Target& target, const Facts& facts) {
  if (!body.has_reduced_axis) return false;
  const std::int64_t rows = evaluate(body.parallel_size(), facts.symbols);
  const std::int64_t extent = evaluate(body.reduced_size(), facts.symbols);
  if (!deals_out_rows(rows, extent, target)) return false;
  if (body.passes() == 1 || !fits_resident(body, target)) return true;
  const std::int64_t parts = tree_of(extent).parts;
  const std::int64_t blocks = rows * std::min<std::int64_t>(target.max_cluster, parts);
  return deals_out_rows(blocks, extent, target) &&
         !are_kept_sooner(body, blocks, rows * parts, target, facts);
}

std::int64_t most_resident_bytes(const Target& target) {
  return std::max<std::int64_t>(kResidentBytes, target.shared_per_block_opt_in - kExchangeBytes);
}

double issue_rate(const Target& target) {
  constexpr double kClock = 1.7e9;
  constexpr double kLanesPerSm = 128;
  return target.sm_count * kLanesPerSm * kClock;
}

double seconds_of(const Cost& cost, const Target& target, double busy, double moving) {
  if (moving < 0) moving = (cost.bytes_read + cost.bytes_written) / target.bandwidth;
  return target.launch_seconds + std::max(moving, cost.instructions / issue_rate(target)) / busy;
}

namespace {

/// What a kernel of rows and columns does besides its loads and stores: the states of its pieces go
/// to the workspace and come back. Returns the share of SMs that have work.
double add_columns(Cost& cost, const Body& body, const Target& target, const Facts& facts) {
  if (body.columns.empty()) return 1;
  const std::vector<Schedule> schedules = row_column_candidates(body, target, facts);
  if (schedules.empty()) return 1;
  const Schedule& schedule = schedules.front();
  const double columns = static_cast<double>(evaluate(body.reduced_size(), facts.symbols));
  double bytes = 0;
  for (const BodyReduction& column : body.columns)
    bytes += columns * states_left(schedule) * state_bytes(*column.node);
  cost.bytes_read += bytes;
  cost.bytes_written += bytes;
  return std::min(1.0, static_cast<double>(blocks_of(schedule)) / target.sm_count);
}

/// Of each value, whether it is read where an earlier pass left it in shared memory.
std::vector<bool> read_from_staged_rows(const Body& body, const Target& target) {
  std::vector<bool> result(body.values.size());
  if (!may_have_staged_rows(body) || !fits_resident(body, target, 1)) return result;
  for (const StagedRow& row : staged_rows(body, plan_resident_passes(body)))
    for (const auto& [load, shift] : row.loads) result[static_cast<std::size_t>(load)] = true;
  return result;
}

}  // namespace

Cost cost_of(const Body& body, const Target& target, const Facts& facts) {
  Cost cost;
  const bool is_columns = reduces_columns(body, facts);
  ColumnPrediction columns;
  if (is_columns) columns = predict_columns(body, target, facts);
  const bool resident = !is_columns && (fits_resident(body, target) || !body.columns.empty());
  PassPlan plan;
  if (!resident && body.has_reduced_axis)
    plan = columns.is_resident ? plan_column_passes(body) : plan_passes(body);
  const std::vector<double> shares = shares_of_vectors(body, facts);
  const std::vector<bool> is_staged = is_columns || !resident
                                          ? std::vector<bool>(body.values.size())
                                          : read_from_staged_rows(body, target);
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
      cost.bytes_read +=
          times * bytes_of(touched_elements(body, value).elements, value.dtype, facts);
    if (value.kind == Value::Kind::op)
      cost.instructions += times * instructions_of(value.node->op) * shares[i] *
                           (value.is_final ? 1.0 : rows) * (value.varies ? row : 1.0);
  }
  // What it takes to add an element, or to compare it, is lost in the load.
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
  cost.bytes_written += columns.bytes_of_pieces;
  cost.bytes_read += columns.bytes_of_pieces;
  const double busy = add_columns(cost, body, target, facts);
  for (const Extent extent : body.at_least_one)
    if (evaluate(extent, facts.symbols) == 0) {
      cost.seconds = std::numeric_limits<double>::infinity();
      return cost;
    }
  cost.seconds = seconds_of(cost, target, busy, is_columns ? columns.seconds : -1);
  return cost;
}

}  // namespace sinter
