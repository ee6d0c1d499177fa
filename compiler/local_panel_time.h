// What members of a joined kernel lose where each block takes a panel through all of them
// (local_panels.h): as many blocks as there are panels, with as many threads as registers and
// shared memory leave, have less on its way than blocks that cover the whole device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/panels.h"

namespace sinter {

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
  /// How much longer than at full bandwidth memory takes where so much is on its way in each SM.
  double slower(double ahead) const;

  const Program& program_;
  std::span<const Kernel> members_;
  std::span<const Body> bodies_;
  const Schedule& joined_;
  const Target& target_;
  std::vector<double> computing_;  ///< seconds, by member
};

}  // namespace sinter
