// Convolutions of GPUs: conv and its gradients by cuDNN.
#pragma once

#include "runtime/libraries/problem/conv_problem.h"
#include "sinter/opaque.h"

namespace sinter {

/// The arrays of a convolution in the memory of a GPU. The kind says which one is the result.
struct CudaConvArrays {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
};

/// Throws UserError if cuDNN is missing or has no engine for the convolution on the GPU.
void check_cuda_conv(const ConvProblem& problem, const OpaqueSizes& call);
/// Workspace of the convolution. The same errors.
std::int64_t cuda_conv_workspace(const ConvProblem& problem, const OpaqueSizes& call);
/// Puts the convolution on the stream of the call.
void enqueue_cuda_conv(const ConvProblem& problem, const CudaConvArrays& arrays,
                       const OpaqueCall& call);

}  // namespace sinter
