// Convolutions of the host device: conv and its gradients on the CPU.
#pragma once

#include "runtime/libraries/host/host_blas.h"
#include "runtime/libraries/host/host_product.h"
#include "runtime/libraries/problem/conv_problem.h"

namespace sinter {

/// The arrays of a convolution in host memory. The kind says which one is the result.
struct ConvArrays {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
};

/// Workspace of a convolution on the host device.
std::int64_t host_conv_workspace(const ConvProblem& problem, const HostBlas& blas);

/// Computes a convolution or gradient as matrix products whose operands are gathered panel by
/// panel. Operands of f16 and bf16 are converted to f32. Products are added in f32, and each sum is
/// rounded once.
void host_conv(const ConvProblem& problem, const ConvArrays& arrays, const HostBlas& blas,
               const HostWorkspace& workspace);

}  // namespace sinter
