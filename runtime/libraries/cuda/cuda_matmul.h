// Matrix products of GPUs: matmul by cuBLASLt.
#pragma once

#include "runtime/libraries/problem/matmul_problem.h"
#include "sinter/opaque.h"

namespace sinter {

/// The arrays of a product in the memory of a GPU.
struct CudaMatmulArrays {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* result = nullptr;
};

/// Throws UserError if cuBLASLt is missing or has no algorithm for the product on the GPU.
void check_cuda_matmul(const MatmulProblem& problem, const OpaqueSizes& call);
/// Workspace of the product, at most 32 MiB. The same errors.
std::int64_t cuda_matmul_workspace(const MatmulProblem& problem, const OpaqueSizes& call);
/// Puts the product on the stream of the call.
void enqueue_cuda_matmul(const MatmulProblem& problem, const CudaMatmulArrays& arrays,
                         const OpaqueCall& call);

}  // namespace sinter
