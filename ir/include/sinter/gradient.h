// Reverse-mode derivatives of recorded values, recorded in the same graph.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "sinter/graph.h"

namespace sinter {

/// Records Σ cotangent · ∂output/∂input for each of `inputs`, in the shape and dtype of the input.
/// The results are ordinary values: they can be outputs, parts of updates, or differentiated again.
///
/// `inputs` may be any floating values of the graph. The gradient of an input is 0 if `output` does
/// not depend on it. stop_gradient, integers and bool pass no gradient on. If the operands of
/// maximum, minimum, fmax or fmin are equal, the second operand gets the cotangent. relu therefore
/// has slope 0 at 0.
///
/// `cotangent` has the dtype and shape of `output`. It may be omitted if `output` has rank 0.
///
/// Throws UserError if an output, input or cotangent does not fit. Also throws if an op between the
/// inputs and the output has no gradient: bitcast, a user's function, or a custom op without a vjp.
std::vector<Tensor> gradient(Tensor output, std::span<const Tensor> inputs,
                             std::optional<Tensor> cotangent = {},
                             const char* file = __builtin_FILE(), int line = __builtin_LINE());
std::vector<Tensor> gradient(Tensor output, std::initializer_list<Tensor> inputs,
                             std::optional<Tensor> cotangent = {},
                             const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace sinter
