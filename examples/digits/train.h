// The training loop in three variants, whose results must have equal bits.
#pragma once

#include "data.h"

#include <sinter/sinter.h>

#include <string>
#include <vector>

namespace digits {

inline constexpr int kSteps = 500;  // unless the user asks for fewer
inline constexpr int kReadEvery = 50;

/// The way in which the host launches a step.
enum class Loop {
  naive,   ///< launches kernel by kernel and waits after every step
  run,     ///< launches kernel by kernel; waits only to read the accumulators
  replay,  ///< launches a step as one CUDA Graph; waits only to read the accumulators
};

struct Trained {
  int steps = 0;
  sinter::Array weight;
  sinter::Array bias;
  std::vector<float> parameters;   ///< weight and bias, on the host
  std::vector<std::string> lines;  ///< one per reading: step, loss, NaN flag
  double launches_per_step = 0;
  double syncs_per_step = 0;
  double microseconds_per_step = 0;
  sinter::Context::Counters counters;
};

/// Trains for `steps` steps from zero weights. Throws std::runtime_error if a loss is NaN.
Trained train(const sinter::Executable& step, const Set& set, Loop loop, int steps);

/// The fraction of `set` that the trained model classifies correctly.
float held_out_accuracy(const sinter::Executable& accuracy, const Trained& trained, const Set& set);

}  // namespace digits
