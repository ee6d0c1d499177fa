// What members of a joined kernel lose where each block takes a panel through all of them
// (local_panels.h): as many blocks as there are panels, with as many threads as registers and
// shared memory leave, have less on its way than blocks that cover the whole device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/horizontal/resident_tiles.h"

namespace sinter {

/// What a thread has on its way of a panel, and of other loads: up to 8 vectors of 16 bytes, and
/// none while it computes.
inline constexpr double kBytesAhead = 96;
/// Panels are worked on so many times as fast as memory moves them, roughly.
inline constexpr double kTimesFaster = 4;
/// What a panel's copy is waited for before there is work again.
inline constexpr double kFillSeconds = 1e-6;
/// How much longer than at full bandwidth memory takes where `ahead` bytes are on their way in each
/// SM: 0 for no longer. Half of the bytes that it needs reach three quarters of its bandwidth.
double slower_by(const Target& target, double ahead);

class LocalPanelTime {
 public:
  LocalPanelTime(const Program& program, std::span<const Kernel> members,
                 std::span<const Body> bodies, const Schedule& joined, const Target& target);

  /// Seconds, of `panels` with so many channels, and `blocks` on an SM; `copy_width`: what a thread
  /// copies at once, over its 16 bytes.
  double lost(const Panels& panels, std::int64_t channels, int blocks, double copy_width) const;

 private:
  /// What a member loads from memory itself.
  struct Loads {
    double bytes = 0;
    double ahead = 0;  ///< of each thread, on its way at once
  };
  Loads loads_of(const Panels& panels, std::size_t member) const;

  const Program& program_;
  std::span<const Kernel> members_;
  std::span<const Body> bodies_;
  const Schedule& joined_;
  const Target& target_;
  std::vector<double> computing_;  ///< seconds, by member
};

}  // namespace sinter
