// Operands of elementwise operators: constants of one element become numbers in the text.
#pragma once

#include "tools/onnx/node/call.h"

#include <vector>

namespace sinter::onnx {

/// Throws UserError unless the inputs `first` and later that the node gives have one dtype.
void require_one_dtype(const Call& call, std::size_t first = 0);
/// All inputs from `first` on, with at least one Tensor among them. Calls require_one_dtype.
std::vector<Operand> elementwise_operands(const Call& call, std::size_t first = 0);
/// Throws UserError unless the node has from `least` to `most` inputs.
void require_inputs(const Call& call, std::size_t least, std::size_t most);

}  // namespace sinter::onnx
