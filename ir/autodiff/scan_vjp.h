// What the vjps of scans are written in: x the operand, y the result, g its cotangent.
#pragma once

#include "sinter/graph.h"

namespace sinter {

Tensor cumsum_vjp(Tensor x, Tensor y, Tensor g);
/// Right at zeros too.
Tensor cumprod_vjp(Tensor x, Tensor y, Tensor g);
/// The first of equal extremes takes the cotangents of all places that it stands for.
Tensor cummax_vjp(Tensor x, Tensor y, Tensor g);
Tensor cummin_vjp(Tensor x, Tensor y, Tensor g);

}  // namespace sinter
