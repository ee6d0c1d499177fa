// The cost of one application of an op: instructions, bytes, and the size of a reduction's state.
#pragma once

#include "compiler/program/kernel.h"

namespace sinter {

/// Approximate instructions of one application of an op, that is, the cost of recomputing it. For a
/// reduction: of accumulating one element.
int instructions_of(Op op);

double bytes_of(Extent elements, DType dtype, const Facts& facts);
/// True if 32 bits can represent every index of an argmax or argmin.
bool has_narrow_index(const Node& reduction);
/// Bytes of the accumulator state of a reduction.
int state_bytes(const Node& reduction);

}  // namespace sinter
