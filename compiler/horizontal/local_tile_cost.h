// What sections of a horizontally fused kernel lose where each block takes a resident tile through
// all of them (local_tiles.h): as many blocks as there are resident tiles, with as many threads as
// registers and shared memory leave, have less on its way than blocks that cover the whole device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

/// What a thread has on its way of a resident tile, and of other loads: up to 8 vectors of 16
/// bytes, and none while it computes.
inline constexpr double kBytesAhead = 96;
/// ResidentTiles are worked on so many times as fast as memory moves them, roughly.
inline constexpr double kTimesFaster = 4;
/// What a resident tile's copy is waited for before there is work again.
inline constexpr double kFillSeconds = 1e-6;
/// How much longer than at full bandwidth memory takes where `ahead` bytes are on their way in each
/// SM: 0 for no longer. Half of the bytes that it needs reach three quarters of its bandwidth.
double slower_by(const Target& target, double ahead);

class LocalTileTime {
 public:
  LocalTileTime(const Program& program, std::span<const Kernel> sections,
                std::span<const Body> bodies, const Schedule& joined, const Target& target);

  /// Seconds, of `resident tiles` with so many channels, and `blocks` on an SM; `copy_width`: what
  /// a thread copies at once, over its 16 bytes.
  double lost(const ResidentTiles& resident_tiles, std::int64_t channels, int blocks,
              double copy_width) const;

 private:
  /// What a section loads from memory itself.
  struct Loads {
    double bytes = 0;
    double ahead = 0;  ///< of each thread, on its way at once
  };
  Loads loads_of(const ResidentTiles& resident_tiles, std::size_t section) const;

  const Program& program_;
  std::span<const Kernel> sections_;
  std::span<const Body> bodies_;
  const Schedule& joined_;
  const Target& target_;
  std::vector<double> computing_;  ///< seconds, by section
};

}  // namespace sinter
