// A matrix product for opaque calls: cuBLASLt on GPUs, a plain loop on the host device.
#pragma once

#include <sinter/sinter.h>

/// y[m, n] = x[m, k] w[k, n] in bf16, accumulated in f32.
sinter::OpaqueFunction gemm();
