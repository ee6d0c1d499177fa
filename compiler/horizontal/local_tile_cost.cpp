#include "compiler/horizontal/local_tile_cost.h"

#include <algorithm>
#include <cmath>

#include "compiler/cost/cost.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"

namespace sinter {

namespace {

/// Threads of an SM that keep it computing.
constexpr double kBusyThreads = 512;
/// Threads of an SM where nothing but registers limits them.
constexpr double kMostThreads = 1536;

}  // namespace

LocalTileTime::LocalTileTime(const Program& program, std::span<const Kernel> sections,
                             std::span<const Body> bodies, const Schedule& joined,
                             const Target& target)
    : program_(program), sections_(sections), bodies_(bodies), joined_(joined), target_(target) {
  for (const Body& body : bodies)
    computing_.push_back(
        seconds_of({.instructions = cost_of(body, target, program.facts).instructions}, target) -
        target.launch_seconds);
}

double slower_by(const Target& target, double ahead) {
  return std::max(static_cast<double>(target.bytes_in_flight) / ahead - 1, 0.0) / 3;
}

LocalTileTime::Loads LocalTileTime::loads_of(const ResidentTiles& resident_tiles,
                                             std::size_t section) const {
  const Schedule& schedule = joined_.sections[section];
  double at_once = schedule.unroll;
  if (sections_[section].kind == KernelKind::column_reduce) at_once *= kChunk;
  // A row that stays in registers is loaded at once.
  if (schedule.resident)
    at_once = std::ceil(
        static_cast<double>(evaluate(bodies_[section].reduced_size(), program_.facts.symbols)) /
        (schedule.threads_per_row * schedule.vector));
  Loads result;
  for (const Value& value : bodies_[section].values) {
    if (value.kind != Value::Kind::load) continue;
    const int buffer = program_.buffer_of.lookup(value.node);
    if (std::ranges::any_of(resident_tiles.arrays, [&](const ResidentTileArray& array) {
          return array.access.buffer == buffer;
        }))
      continue;
    const int size = size_of(value.dtype);
    result.bytes += static_cast<double>(
        bytes_of(program_.buffers[static_cast<std::size_t>(buffer)], program_.facts.symbols));
    result.ahead += std::min(16, size * schedule.vector) * at_once;
  }
  result.ahead = std::min(result.ahead, kBytesAhead);
  return result;
}

double LocalTileTime::lost(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks,
                           double copy_width) const {
  const auto all = static_cast<double>(resident_tiles.outer * (resident_tiles.channels / channels));
  // Of an SM, on average.
  const double blocks_there = std::min<double>(blocks, all / target_.sm_count);
  const double threads = blocks_there * joined_.threads;
  double copied = 0;
  for (const ResidentTileArray& array : resident_tiles.arrays)
    if (!array.is_written)
      copied += static_cast<double>(resident_tiles.elements(array) * size_of(array.access.dtype));
  double lost = 0;
  if (copied > 0) {
    const double of_block = std::min(kBytesAhead * copy_width * joined_.threads, copied / all);
    lost += slower_by(target_, of_block * blocks_there) * copied / target_.bandwidth;
  }
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (resident_tiles.sections[i].part != ResidentTileSection::Part::resident_tiles) continue;
    const double over = threads_over_work(sections_[i], resident_tiles.sections[i].walk,
                                          joined_.sections[i], channels);
    lost += (over - 1) * sections_[i].bytes / kTimesFaster / target_.bandwidth;
    lost += computing_[i] * std::max(kBusyThreads / threads - 1, 0.0);
    const Loads loads = loads_of(resident_tiles, i);
    if (loads.ahead == 0) continue;
    lost += (slower_by(target_, loads.ahead * threads) -
             slower_by(target_, loads.ahead * kMostThreads)) *
            loads.bytes / target_.bandwidth;
  }
  const double turns = std::ceil(all / (double(target_.sm_count) * blocks));
  return lost + (turns - 1) * kFillSeconds / blocks;
}

}  // namespace sinter
