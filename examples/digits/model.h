// Softmax regression as two recorded programs: a training step, and the accuracy.
#pragma once

#include <sinter/sinter.h>

namespace digits {

inline constexpr int kBatch = 256;

/// One step of stochastic gradient descent: forward pass, cross-entropy, gradients, and update of
/// weight and bias with the run-time scalar `rate`. It also updates accumulators on the device that
/// the host reads now and then: loss_sum, steps, has_nan.
sinter::Graph training_step();

/// The fraction of `images` images whose largest logit is that of their label.
sinter::Graph accuracy(int images);

}  // namespace digits
