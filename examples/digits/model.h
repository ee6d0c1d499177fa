// Softmax regression as two recorded programs: a step of training, and how many it gets right.
#pragma once

#include <sinter/sinter.h>

namespace digits {

inline constexpr int kBatch = 256;

/// One step of stochastic gradient descent: forward pass, cross-entropy, gradients, update of
/// weight and bias at the run-time scalar `rate`, and what the host wants to know of it, kept on
/// the device: loss_sum, steps, has_nan.
sinter::Graph training_step();

/// The share of `images` images whose largest logit is that of their label.
sinter::Graph accuracy(int images);

}  // namespace digits
