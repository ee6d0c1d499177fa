// Losses of class probabilities.
#include "sinter/nn.h"
#include "tools/onnx/node/operands.h"
#include "tools/onnx/ops/op_table.h"

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

NllOptions nll_options(const Call& call) {
  NllOptions options;
  const std::string reduction = call.attributes().text("reduction", "mean");
  if (reduction == "none")
    options.reduction = Reduction::none;
  else if (reduction == "sum")
    options.reduction = Reduction::sum;
  else if (reduction != "mean")
    refuse(fmt::format("reduction is '{}'; it must be none, sum or mean", reduction));
  if (call.has_input(2)) options.weight = call.tensor(2);
  options.ignore_index = call.attributes().integer("ignore_index", options.ignore_index);
  return options;
}

Outputs record_negative_log_likelihood_loss(const Call& call) {
  require_inputs(call, 2, 3);
  const Tensor x = call.tensor(0);
  return {cast(nll_loss(x, call.tensor(1), nll_options(call)), x.dtype())};
}

/// The second output is the logarithm of the probabilities.
Outputs record_softmax_cross_entropy_loss(const Call& call) {
  require_inputs(call, 2, 3);
  const Tensor logits = call.tensor(0);
  const Tensor log_probabilities = log_softmax(logits, 1);
  const Tensor loss = nll_loss(log_probabilities, call.tensor(1), nll_options(call));
  return {cast(loss, logits.dtype()), log_probabilities};
}

constexpr OpRow kLosses[] = {
    {"NegativeLogLikelihoodLoss", record_negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", record_softmax_cross_entropy_loss},
};

}  // namespace

std::span<const OpRow> loss_ops() { return kLosses; }

}  // namespace sinter::onnx
