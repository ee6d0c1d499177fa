// The functions conv, conv_data_gradient and conv_weight_gradient, on GPUs and
// on the host device.
#pragma once

#include "runtime/libraries/problem/conv_problem.h"
#include "sinter/opaque.h"

namespace sinter {

OpaqueFunction conv_function(ConvKind kind);

}  // namespace sinter
