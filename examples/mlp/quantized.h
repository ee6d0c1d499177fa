// The trained network with products of 8-bit operands.
#pragma once

#include <sinter/sinter.h>

#include <vector>

namespace mlp {

/// The graph of `accuracy(images)` with both matrix products in `dtype`. `parameters` are bound to
/// the trained weights, and `examples` to images, from which the ranges of the operands follow.
sinter::Graph quantized_accuracy(int images, sinter::DType dtype, const sinter::Stream& stream,
                                 const std::vector<sinter::Binding>& parameters,
                                 const std::vector<sinter::Binding>& examples);

}  // namespace mlp
