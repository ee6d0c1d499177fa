// A network with a hidden layer, and two recorded programs: a training step, and the accuracy.
#pragma once

#include <sinter/sinter.h>

#include <vector>

namespace mlp {

inline constexpr int kBatch = 256, kHidden = 128;

struct Parameter {
  const char* name;
  std::vector<std::int64_t> shape;
  float spread;  ///< the first values are in [-spread, spread]
};
const std::vector<Parameter>& parameters();
/// The parameters as inputs of `graph`.
std::vector<sinter::Tensor> inputs(sinter::Graph& graph);
/// The network: images [n, 64] → [n, 10]
sinter::Tensor logits(sinter::Tensor pixels, const std::vector<sinter::Tensor>& parameters);
/// The input that holds the moving average of the gradient of a parameter.
std::string velocity_of(const Parameter& parameter);

/// One step of gradient descent with momentum. It draws a batch from `images` images on the device,
/// and updates the parameters, velocities and step number. Its output is the loss.
sinter::Graph training_step(int images);

/// The fraction of `images` images whose largest logit is that of their label.
sinter::Graph accuracy(int images);

}  // namespace mlp
