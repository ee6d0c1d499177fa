#include "compiler/horizontal/tile_cost.h"

#include <algorithm>
#include <cmath>

#include "compiler/cost/cost.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"

namespace sinter {

namespace {

/// Threads per SM that keep its arithmetic units busy.
constexpr double kBusyThreads = 512;
/// Threads per SM if only registers limit them.
constexpr double kMaxThreads = 1536;

}  // namespace

TileCost::TileCost(const FusedSections& sections, const Schedule& fused, const Target& target)
    : sections_(sections), fused_(fused), target_(target) {
  for (const Body& body : sections.bodies)
    computing_.push_back(
        seconds_of({.instructions = cost_of(body, target, sections.program.facts).instructions},
                   target) -
        target.launch_seconds);
}

double extra_memory_time(const Target& target, double bytes_in_flight) {
  return std::max(static_cast<double>(target.bytes_in_flight) / bytes_in_flight - 1, 0.0) / 3;
}

TileCost::Loads TileCost::loads_of(const ResidentTiles* resident_tiles, std::size_t section) const {
  const Schedule& schedule = fused_.sections[section];
  double at_once = schedule.unroll;
  if (sections_[section].kind == KernelKind::column_reduce) at_once *= kChunk;
  // A row that stays in registers is loaded at once.
  if (schedule.resident)
    at_once = std::ceil(static_cast<double>(evaluate(sections_.bodies[section].reduced_size(),
                                                     sections_.program.facts.symbols)) /
                        (schedule.threads_per_row * schedule.vector));
  Loads result;
  for (const Value& value : sections_.bodies[section].values) {
    if (value.kind != Value::Kind::load) continue;
    const int buffer = sections_.program.buffer_of.lookup(value.node);
    if (resident_tiles && resident_tiles->has_array(buffer)) continue;
    const int size = size_of(value.dtype);
    result.bytes +=
        static_cast<double>(bytes_of(sections_.program.buffers[static_cast<std::size_t>(buffer)],
                                     sections_.program.facts.symbols));
    result.bytes_in_flight += std::min(16, size * schedule.vector) * at_once;
  }
  result.bytes_in_flight = std::min(result.bytes_in_flight, kBytesInFlightPerThread);
  return result;
}

double TileCost::loss_to_few_threads(const Loads& loads, double threads) const {
  if (loads.bytes_in_flight == 0) return 0;
  return (extra_memory_time(target_, loads.bytes_in_flight * threads) -
          extra_memory_time(target_, loads.bytes_in_flight * kMaxThreads)) *
         loads.bytes / target_.bandwidth;
}

double TileCost::loss_in_memory(const ResidentTiles& resident_tiles, int blocks) const {
  double lost = 0;
  for (std::size_t i = 0; i < sections_.size(); ++i)
    if (resident_tiles.runs_on_tiles(i))
      lost +=
          loss_to_few_threads(loads_of(nullptr, i), static_cast<double>(blocks) * fused_.threads);
  return lost;
}

double TileCost::predicted_loss(const ResidentTiles& resident_tiles, std::int64_t channels,
                                int blocks, double copy_width) const {
  const auto all = static_cast<double>(resident_tiles.outer * (resident_tiles.channels / channels));
  // Per SM, on average.
  const double blocks_there = std::min<double>(blocks, all / target_.sm_count);
  const double threads = blocks_there * fused_.threads;
  double copied = 0;
  for (const ResidentTileArray& array : resident_tiles.arrays)
    if (!array.is_produced)
      copied += static_cast<double>(resident_tiles.elements(array) * size_of(array.access.dtype));
  double lost = 0;
  if (copied > 0) {
    const double of_block =
        std::min(kBytesInFlightPerThread * copy_width * fused_.threads, copied / all);
    lost += extra_memory_time(target_, of_block * blocks_there) * copied / target_.bandwidth;
  }
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (!resident_tiles.runs_on_tiles(i)) continue;
    const double over = thread_work_ratio(sections_[i], resident_tiles.sections[i].axes,
                                          fused_.sections[i], channels);
    lost += (over - 1) * sections_[i].bytes / target_.tile_speedup / target_.bandwidth;
    lost += computing_[i] * std::max(kBusyThreads / threads - 1, 0.0);
    lost += loss_to_few_threads(loads_of(&resident_tiles, i), threads);
  }
  const double waves = std::ceil(all / (double(target_.sm_count) * blocks));
  return lost + (waves - 1) * target_.tile_copy_seconds / blocks;
}

}  // namespace sinter
