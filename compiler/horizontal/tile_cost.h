// Predicts the loss of sections that run on local tiles (local_tiles.h), or beside resident tiles in
// memory. There are only as many blocks as tiles, and their threads are limited by registers and
// shared memory. They have fewer loads in flight than blocks that cover the whole device.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

/// Average bytes in flight per thread while it copies a resident tile or loads other data. A thread
/// has up to 8 vectors of 16 bytes in flight, and none while it computes.
inline constexpr double kBytesInFlightPerThread = 96;
/// The extra time to move data with this many bytes in flight per SM, relative to the time at full
/// bandwidth. 0: none. Half of the bytes that the memory needs in flight reach three quarters of
/// its bandwidth.
double extra_memory_time(const Target& target, double bytes_in_flight);

class TileCost {
 public:
  TileCost(const FusedSections& sections, const Schedule& fused, const Target& target);

  /// The loss in seconds for local tiles of `channels` channels and `blocks` blocks per SM.
  /// `copy_width`: the vector width of copies, relative to the widest loads.
  double predicted_loss(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks,
                        double copy_width) const;
  /// The loss in seconds if the sections on tiles access all arrays in memory, with `blocks` blocks
  /// per SM.
  double loss_in_memory(const ResidentTiles& resident_tiles, int blocks) const;

 private:
  /// The loads of a section that do not come from resident tiles.
  struct Loads {
    double bytes = 0;
    double bytes_in_flight = 0;  ///< per thread
  };
  /// `resident_tiles`: null if none is there.
  Loads loads_of(const ResidentTiles* resident_tiles, std::size_t section) const;
  /// The loss to `threads` threads per SM, which have fewer loads in flight than more would have.
  double loss_to_few_threads(const Loads& loads, double threads) const;

  const FusedSections& sections_;
  const Schedule& fused_;
  const Target& target_;
  std::vector<double> computing_;  ///< seconds, by section
};

}  // namespace sinter
