// The activations that recurrent nodes name in their attributes.
#pragma once

#include "tools/onnx/node/call.h"

#include <functional>
#include <vector>

namespace sinter::onnx {

using Activation = std::function<Tensor(Tensor)>;

/// The activations in the attributes activations, activation_alpha and activation_beta, or
/// `defaults`. Throws UserError unless there are `count`, and for an unknown name.
std::vector<Activation> activations_of(const Call& call, std::vector<std::string> defaults,
                                       std::size_t count);

}  // namespace sinter::onnx
