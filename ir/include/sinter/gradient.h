// Derivatives of recorded values, by reverse mode, recorded in the same graph.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "sinter/graph.h"

namespace sinter {

/// For each of `inputs` Σ cotangent · ∂output/∂input, of the input's shape and dtype: ready to be
/// an output, part of an update, or differentiated again. Inputs may be any floating values of the
/// graph; the gradient of one that `output` does not depend on is 0, and so is what passes through
/// stop_gradient, or through an integer or bool, which only jumps. Of equal operands of maximum,
/// minimum, fmax and fmin the second gets the cotangent: relu has slope 0 at 0. Without `cotangent`
/// the output must be one number.
///
/// Throws UserError where an output, input or cotangent does not fit, and where an op on the way
/// has no gradient (bitcast).
std::vector<Tensor> gradient(Tensor output, std::span<const Tensor> inputs,
                             std::optional<Tensor> cotangent = {},
                             const char* file = __builtin_FILE(), int line = __builtin_LINE());
std::vector<Tensor> gradient(Tensor output, std::initializer_list<Tensor> inputs,
                             std::optional<Tensor> cotangent = {},
                             const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace sinter
