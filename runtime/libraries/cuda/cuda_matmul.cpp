#include "runtime/libraries/cuda/cuda_matmul.h"

#include <bit>

#include "runtime/libraries/cuda/cublaslt_plan.h"
#include "runtime/libraries/cuda/on_device.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kMostMatmulWorkspace = std::int64_t{32} << 20;

/// The largest power of two, up to 256, that divides all addresses of the matrices of an operand.
/// The innermost batch axis is not counted, because the library knows its stride.
int alignment_of(const std::byte* data, DType dtype, const MatmulProblem& problem,
                 std::int64_t MatmulProblem::Axis::*stride) {
  std::uint64_t bits = reinterpret_cast<std::uintptr_t>(data) | 256;
  for (std::size_t i = 0; i + 1 < problem.batch.size(); ++i)
    bits |= static_cast<std::uint64_t>(problem.batch[i].*stride) *
            static_cast<std::uint64_t>(size_of(dtype));
  return 1 << std::countr_zero(bits);
}

/// Elements of the result per index of the outer batch axes.
std::int64_t inner_result(const MatmulProblem& problem) {
  const std::int64_t inner = problem.batch.empty() ? 1 : problem.batch.back().extent;
  return inner * problem.m * problem.n;
}

CublasltQuery query_of(const MatmulProblem& problem, const CudaMatmulArrays& arrays, int device,
                       std::int64_t most_workspace) {
  using Axis = MatmulProblem::Axis;
  std::uint64_t result = reinterpret_cast<std::uintptr_t>(arrays.result) | 256;
  if (problem.batch.size() > 1)
    result |= static_cast<std::uint64_t>(inner_result(problem) * size_of(problem.result_dtype));
  return {.problem = problem,
          .device = device,
          .a_alignment = alignment_of(arrays.a, problem.a_dtype, problem, &Axis::a_stride),
          .b_alignment = alignment_of(arrays.b, problem.b_dtype, problem, &Axis::b_stride),
          .result_alignment = 1 << std::countr_zero(result),
          .most_workspace = most_workspace};
}

/// Does not multiply: the result is empty, or each sum is.
bool is_trivial(const MatmulProblem& problem) { return problem.is_empty() || problem.k == 0; }

/// The plan for arrays that are aligned like sinter's memory.
std::shared_ptr<const CublasltPlan> planned(const MatmulProblem& problem, int device) {
  return cublaslt_plan(query_of(problem, {}, device, kMostMatmulWorkspace));
}

}  // namespace

void check_cuda_matmul(const MatmulProblem& problem, const OpaqueSizes& call) {
  cuda_matmul_workspace(problem, call);
}

std::int64_t cuda_matmul_workspace(const MatmulProblem& problem, const OpaqueSizes& call) {
  if (is_trivial(problem)) return 0;
  const OnDevice device(call.device);
  return planned(problem, call.device)->workspace_bytes();
}

void enqueue_cuda_matmul(const MatmulProblem& problem, const CudaMatmulArrays& arrays,
                         const OpaqueCall& call) {
  if (problem.is_empty()) return;
  const OnDevice device(call.device);
  const auto stream = static_cast<CUstream>(call.stream);
  if (problem.k == 0) {
    const auto bytes = static_cast<std::size_t>(call.outputs[0].bytes());
    const Driver& driver = device.state.driver;
    return check(
        driver,
        driver.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(arrays.result), 0, bytes, stream),
        "cuMemsetD8Async", "a product with k = 0");
  }
  // The caller's arrays may be less aligned than those that the workspace was planned for.
  const CublasltQuery actual = query_of(problem, arrays, call.device, kMostMatmulWorkspace);
  std::shared_ptr<const CublasltPlan> plan = planned(problem, call.device);
  const CublasltQuery aligned = query_of(problem, {}, call.device, kMostMatmulWorkspace);
  if (actual != aligned || plan->workspace_bytes() > call.workspace_bytes) {
    CublasltQuery query = actual;
    query.most_workspace = call.workspace_bytes;
    plan = cublaslt_plan(query);
  }
  MatmulProblem outer = problem;  // the batch axes in front of the plan's
  std::int64_t count = 1;
  if (!outer.batch.empty()) {
    outer.batch.pop_back();
    count = outer.batches();
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const MatmulProblem::Offsets offsets = outer.offsets(i);
    plan->enqueue(arrays.a + offsets.a * size_of(problem.a_dtype),
                  arrays.b + offsets.b * size_of(problem.b_dtype),
                  arrays.result + i * inner_result(problem) * size_of(problem.result_dtype),
                  call.workspace, stream);
  }
}

}  // namespace sinter
