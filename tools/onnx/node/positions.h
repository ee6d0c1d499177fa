// Index tensors along the axes of a value.
#pragma once

#include "tools/onnx/node/call.h"

namespace sinter::onnx {

/// 0, 1, 2, … along `axis` of x, in i64. It broadcasts to x: all other axes have extent 1.
Tensor positions_along(const Call& call, const Tensor& x, int axis);
/// The elements of `vector` along `axis` of a value of rank `rank`; other axes have extent 1.
/// Throws UserError if `vector` is no vector, or if the value has no such axis.
Tensor aligned_to_axis(const Tensor& vector, int axis, int rank);
/// Indices with negative ones counted from the end of an axis of this extent.
Tensor from_front(const Call& call, const Tensor& indices, Extent extent);

}  // namespace sinter::onnx
