// The vjps of scans: x is the operand, y the result and g its cotangent.
#pragma once

#include "sinter/graph.h"

namespace sinter {

Tensor cumsum_vjp(Tensor x, Tensor y, Tensor g);
/// Also exact if elements of x are 0.
Tensor cumprod_vjp(Tensor x, Tensor y, Tensor g);
/// The first of equal extremes gets the sum of the cotangents of all results that equal it.
Tensor cummax_vjp(Tensor x, Tensor y, Tensor g);
Tensor cummin_vjp(Tensor x, Tensor y, Tensor g);

}  // namespace sinter
