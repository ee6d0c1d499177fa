#include "runtime/libraries/matmul_function.h"

#include "runtime/libraries/cuda/cuda_matmul.h"
#include "runtime/libraries/host/host_matmul.h"

namespace sinter {

namespace {

int enqueue_matmul(const OpaqueCall& call) {
  const MatmulProblem problem = matmul_problem(call);
  void* const a = call.inputs[0].data;
  void* const b = call.inputs[1].data;
  void* const result = call.outputs[0].data;
  if (!call.is_host_device) {
    enqueue_cuda_matmul(problem,
                        {.a = static_cast<const std::byte*>(a),
                         .b = static_cast<const std::byte*>(b),
                         .result = static_cast<std::byte*>(result)},
                        call);
    return 0;
  }
  const MatmulArrays arrays{.a = a, .b = b, .result = result};
  const HostWorkspace workspace{.data = call.workspace, .bytes = call.workspace_bytes};
  call.on_host([=, &blas = host_blas()] { host_matmul(problem, arrays, blas, workspace); });
  return 0;
}

std::int64_t matmul_workspace(const OpaqueSizes& call) {
  const MatmulProblem problem = matmul_problem(call);
  return call.is_host_device ? host_matmul_workspace(problem, host_blas())
                             : cuda_matmul_workspace(problem, call);
}

void check_matmul(const OpaqueSizes& call) {
  const MatmulProblem problem = matmul_problem(call);
  if (call.is_host_device)
    host_blas();
  else
    check_cuda_matmul(problem, call);
}

}  // namespace

OpaqueFunction matmul_function() {
  return {.enqueue = enqueue_matmul, .workspace = matmul_workspace, .check = check_matmul};
}

}  // namespace sinter
