// Matrix products of the host device: matmul on the CPU.
#pragma once

#include "runtime/libraries/host/host_blas.h"
#include "runtime/libraries/host/host_product.h"
#include "runtime/libraries/problem/matmul_problem.h"

namespace sinter {

/// The arrays of a product in host memory.
struct MatmulArrays {
  const void* a = nullptr;
  const void* b = nullptr;
  void* result = nullptr;
};

/// Workspace of a product on the host device.
std::int64_t host_matmul_workspace(const MatmulProblem& problem, const HostBlas& blas);

/// Computes a product. Operands of f16, bf16 and f8 are converted to f32. Products are added in
/// f32, and each sum is rounded once to the dtype of the result. Products of i8 are added in i32.
void host_matmul(const MatmulProblem& problem, const MatmulArrays& arrays, const HostBlas& blas,
                 const HostWorkspace& workspace);

}  // namespace sinter
