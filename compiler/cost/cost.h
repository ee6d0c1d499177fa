// Predicted cost of a kernel from its body and a target alone (the time model of PERFORMANCE.md
// §2).
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

struct Cost {
  double bytes_read = 0;
  double bytes_written = 0;
  double instructions = 0;  ///< of single threads
  double seconds = 0;       ///< launch + max(bytes / bandwidth, instructions / issue rate)
};

/// Needs: collapsed axes, where `body` reduces columns.
Cost cost_of(const Body& body, const Target& target, const Facts& facts);
/// What the rest of `cost` takes where a share `busy` of the SMs has work, and moving its bytes
/// takes `moving` seconds; negative: as long as at full bandwidth.
double seconds_of(const Cost& cost, const Target& target, double busy = 1, double moving = -1);

}  // namespace sinter
