// The function matmul, on GPUs and on the host device.
#pragma once

#include "sinter/opaque.h"

namespace sinter {

OpaqueFunction matmul_function();

}  // namespace sinter
