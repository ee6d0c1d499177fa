// What one application of an op takes: instructions, bytes, and the state of a reduction.
#pragma once

#include "compiler/program/kernel.h"

namespace sinter {

/// Instructions of one application of an op, roughly: what recomputing it costs. Of a reduction: of
/// taking one element in.
int instructions_of(Op op);

double bytes_of(Extent elements, DType dtype, const Facts& facts);
/// Bytes of the state that a reduction adds elements to.
int state_bytes(const Node& reduction);

}  // namespace sinter
