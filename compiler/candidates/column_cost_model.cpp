#include "compiler/candidates/column_cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "compiler/body/footprint.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/candidates/register_estimate.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/size_class.h"
#include "compiler/target/gpu_constants.h"
#include "compiler/tiling/column_split.h"
#include "ir/support/round_up.h"

namespace sinter {

ColumnCostModel::ColumnCostModel(const Body& body, const Target& target, const Facts& facts)
    : body_(body),
      target_(target),
      tree_(tree_of(body.passes() > 1 ? class_of_residency(body.reduced_size(), facts).high
                                      : evaluate(body.reduced_size(), facts.symbols))),
      inner_(evaluate(body.space.extent(body.parallel_axes - 1), facts.symbols)),
      outer_(evaluate(body.parallel_size(), facts.symbols) / std::max<std::int64_t>(inner_, 1)) {
  const PassPlan plan = plan_passes(body);
  for (std::size_t i = 0; i < body.values.size(); ++i) {
    const Value& value = body.values[i];
    if (value.kind != Value::Kind::load) continue;
    const double bytes = bytes_of(footprint_of(body, value).elements, value.dtype, facts);
    read_bytes_ += bytes;
    if (!value.varies) continue;
    const int size = size_of(value.dtype);
    const std::optional<Extent> step = coefficient_of(value.at, body.reduced_axis());
    const std::int64_t row = step ? std::abs(evaluate(*step, facts.symbols)) * size : kSectorBytes;
    loads_.push_back({.bytes = size, .row = std::clamp<std::int64_t>(row, size, kSectorBytes)});
    bytes_per_row_element_ += size;
    if (depends_on(value.at, body.parallel_axes - 1)) note_size(size);
    reread_bytes_ += bytes * std::max(loads_of(plan, i) - 1, 0);
  }
  for (const BodyStore& store : body.stores) {
    stored_bytes_ += bytes_of(stored_elements(body, store), store.node->dtype, facts);
    if (store.varies) note_size(size_of(store.node->dtype));
  }
  const std::vector<std::int64_t> state_bytes_of_pass = sums_by_pass(body, state_bytes);
  state_bytes_ = std::ranges::max(state_bytes_of_pass);
  cluster_exchanges_ = static_cast<int>(
      std::ranges::count_if(state_bytes_of_pass, [](std::int64_t bytes) { return bytes > 0; }));
  for (const BodyReduction& reduction : body.reductions)
    widest_state_ = std::max<std::int64_t>(widest_state_, state_bytes(*reduction.node));
  if (body.passes() == 1) return;
  kept_bytes_ = kept_slots(body, plan_column_passes(body)).bytes_per_element();
}

void ColumnCostModel::note_size(int bytes) {
  narrowest_ = std::min(narrowest_, bytes);
  widest_ = std::max(widest_, bytes);
}

bool ColumnCostModel::fits(const Schedule& schedule) const {
  return fits_shared(schedule) && registers(schedule) <= max_registers(schedule.threads);
}

bool ColumnCostModel::fits_shared(const Schedule& schedule) const {
  return shared_bytes(schedule) <= target_.shared_per_block_opt_in;
}

std::int64_t ColumnCostModel::max_registers(int threads) const {
  return std::min<std::int64_t>(target_.registers_per_sm / threads,
                                target_.max_registers_per_thread);
}

std::int64_t ColumnCostModel::registers(const Schedule& schedule) const {
  return column_registers(body_, tree_, schedule, state_bytes_, bytes_per_row_element_);
}

std::int64_t ColumnCostModel::shared_bytes(const Schedule& schedule) const {
  std::int64_t exchange = 2 * round_up(exchange_slots(schedule) * widest_state_, 16);
  if (schedule.cluster > 1) exchange += 2 * cluster_bytes(schedule, body_);
  if (!schedule.resident) return exchange;
  return exchange + kept_rows(split_of(tree_, schedule)) * columns_of(schedule) * kept_bytes_;
}

std::int64_t ColumnCostModel::tiles(const Schedule& schedule) const {
  const std::int64_t columns = columns_of(schedule);
  return outer_ * divide_up(inner_, columns);
}

/// Blocks of the grid per SM, resident or not.
double ColumnCostModel::blocks_per_sm_of(const Schedule& schedule) const {
  return static_cast<double>(tiles(schedule) * schedule.splits * schedule.cluster) /
         target_.sm_count;
}

int ColumnCostModel::blocks_that_fit(const Schedule& schedule) const {
  const auto needed =
      static_cast<int>(std::min(registers(schedule), max_registers(schedule.threads)));
  return blocks_per_sm(target_, schedule.threads, needed, shared_bytes(schedule));
}

double ColumnCostModel::bytes_per_block(const Schedule& schedule) const {
  return static_cast<double>(std::int64_t{schedule.threads} * schedule.vector * schedule.unroll *
                             kChunk * bytes_per_row_element_);
}

Grid ColumnCostModel::grid(const Schedule& schedule) const {
  return {.blocks_per_sm = blocks_per_sm_of(schedule),
          .resident = blocks_that_fit(schedule),
          .bytes_in_flight = bytes_per_block(schedule) * share_of_sectors(schedule)};
}

double ColumnCostModel::bytes_in_flight(const Schedule& schedule) const {
  const Grid grid = this->grid(schedule);
  const double resident = std::min(grid.blocks_per_sm, static_cast<double>(grid.resident));
  return std::min(resident * grid.bytes_in_flight, static_cast<double>(target_.bytes_in_flight));
}

/// The fraction of moved bytes that the block uses. Memory moves whole sectors. If a block has all
/// columns, a sector holds several short rows.
double ColumnCostModel::share_of_sectors(const Schedule& schedule) const {
  const std::int64_t columns = columns_of(schedule);
  double used = 0;
  for (const auto [bytes, row] : loads_) {
    const std::int64_t there = std::min(columns, inner_) * bytes;
    const std::int64_t moved = columns < inner_ ? kSectorBytes : row;
    used += bytes * std::min(static_cast<double>(there) / static_cast<double>(moved), 1.0);
  }
  return bytes_per_row_element_ == 0 ? 1 : used / static_cast<double>(bytes_per_row_element_);
}

double ColumnCostModel::cost_of_segments(const Schedule& schedule) const {
  const std::int64_t columns = columns_of(schedule);
  const bool is_near = read_bytes_ + stored_bytes_ <= static_cast<double>(target_.l2_bytes);
  if (is_near || columns >= inner_ || bytes_per_row_element_ == 0) return 1;
  double cost = 0;
  for (const auto [bytes, row] : loads_) {
    const std::int64_t segment = columns * bytes;
    cost += bytes * (segment >= 128 ? 1 : segment >= 64 ? 1.17 : 1.58);
  }
  return cost / static_cast<double>(bytes_per_row_element_);
}

double ColumnCostModel::cost_of_residency(const Schedule& schedule) const {
  constexpr double kAlone = 1.25;
  return cost_of_segments(schedule) * (blocks_that_fit(schedule) == 1 ? kAlone : 1);
}

double ColumnCostModel::bytes_of_splits(const Schedule& schedule) const {
  if (schedule.splits == 1) return 0;
  return static_cast<double>(tiles(schedule) * columns_of(schedule) * schedule.splits *
                             state_bytes_);
}

double ColumnCostModel::seconds(const Schedule& schedule, bool with_last_wave) const {
  Grid grid = this->grid(schedule);
  if (!with_last_wave)
    grid.blocks_per_sm = std::min(grid.blocks_per_sm, static_cast<double>(grid.resident));
  // Either the loads in flight limit the bandwidth, or the segments do.
  const double segments = schedule.resident ? 1 : cost_of_segments(schedule);
  const auto reading = [&](double bytes, double latency_gain) {
    return bytes / target_.bandwidth * std::max(slowdown(target_, grid, latency_gain), segments);
  };
  double result = reading(read_bytes_, 1);
  if (!schedule.resident) {
    const bool is_near = read_bytes_ + stored_bytes_ <= static_cast<double>(target_.l2_bytes);
    result += is_near ? reading(reread_bytes_ / kL2BandwidthRatio, kL2LatencyGain)
                      : reading(reread_bytes_, 1);
  }
  // Stores do not wait for one another, so only idle SMs reduce their bandwidth.
  const double storing = std::clamp(kStoreThroughput * blocks_per_sm_of(schedule), 1e-3, 1.0);
  result += stored_bytes_ / (target_.bandwidth * storing);
  if (schedule.splits > 1) {
    const double states = bytes_of_splits(schedule);
    result = kModelMargin * result + kLastBlockSeconds + 2 * states / target_.bandwidth +
             states / static_cast<double>(tiles(schedule)) / kCombineBandwidth;
  }
  if (schedule.cluster > 1)
    result = kModelMargin * result + target_.cluster_barrier_seconds * cluster_exchanges_;
  return result;
}

int ColumnCostModel::reserved_blocks_per_sm(const Schedule& schedule) const {
  const double enough = std::ceil(static_cast<double>(target_.bytes_in_flight) /
                                  std::max(bytes_per_block(schedule), 1.0));
  const auto blocks =
      static_cast<int>(std::max(std::min(std::ceil(blocks_per_sm_of(schedule)), enough), 1.0));
  return blocks <= blocks_that_fit(schedule) ? blocks : 0;
}

}  // namespace sinter
