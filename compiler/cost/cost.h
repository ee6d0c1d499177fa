// Predicts the cost of a kernel from its body and a target alone.
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

/// Needs: collapsed axes if `body` reduces columns.
Cost cost_of(const Body& body, const Target& target, const Facts& facts);
/// The cost of one launch at the program's sizes: all sections, and the grid barriers between their
/// phases.
Cost cost_of(const Program& program, const Kernel& kernel, const Target& target);
/// The time for the bytes and instructions in `cost` if a fraction `busy` of the SMs has work.
/// `moving` is the time to move the bytes, in seconds; negative: at full bandwidth.
double seconds_of(const Cost& cost, const Target& target, double busy = 1, double moving = -1);

}  // namespace sinter
