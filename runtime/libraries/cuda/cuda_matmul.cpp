#include "runtime/libraries/cuda/cuda_matmul.h"

#include <algorithm>
#include <bit>

#include "runtime/libraries/cuda/cublaslt_plan.h"
#include "runtime/libraries/cuda/on_device.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kMostMatmulWorkspace = std::int64_t{32} << 20;

/// cuBLASLt has no algorithms for a batch of 2^16 or more. After a multiple of 256 matrices, memory
/// is as aligned as at the first one.
constexpr std::int64_t kMostBatch = 255 * 256;

/// The first index of the last part of the innermost batch axis. Parts have kMostBatch indices, the
/// last one may have fewer.
std::int64_t last_part(const MatmulProblem& problem) {
  return (problem.inner_extent() - 1) / kMostBatch * kMostBatch;
}

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
  return problem.inner_extent() * problem.m * problem.n;
}

/// The query for the part of the innermost batch axis that begins at index `begin`.
CublasltQuery query_of(const MatmulProblem& problem, std::int64_t begin,
                       const CudaMatmulArrays& arrays, int device, std::int64_t most_workspace) {
  using Axis = MatmulProblem::Axis;
  std::uint64_t result = reinterpret_cast<std::uintptr_t>(arrays.result) | 256;
  if (problem.batch.size() > 1)
    result |= static_cast<std::uint64_t>(inner_result(problem) * size_of(problem.result_dtype));
  return {.problem = problem.part(begin, kMostBatch),
          .device = device,
          .a_alignment = alignment_of(arrays.a, problem.a_dtype, problem, &Axis::a_stride),
          .b_alignment = alignment_of(arrays.b, problem.b_dtype, problem, &Axis::b_stride),
          .result_alignment = 1 << std::countr_zero(result),
          .most_workspace = most_workspace};
}

/// Does not multiply: the result is empty, or each sum is.
bool is_trivial(const MatmulProblem& problem) { return problem.is_empty() || problem.k == 0; }

/// The query for arrays that are aligned like sinter's memory.
CublasltQuery aligned_product_query(const MatmulProblem& problem, std::int64_t begin, int device) {
  return query_of(problem, begin, {}, device, kMostMatmulWorkspace);
}

/// The plan of a part for the arrays and the workspace of a call.
std::shared_ptr<const CublasltPlan> plan_of(const MatmulProblem& problem, std::int64_t begin,
                                            const CudaMatmulArrays& arrays,
                                            const OpaqueCall& call) {
  CublasltQuery query = query_of(problem, begin, arrays, call.device, kMostMatmulWorkspace);
  const CublasltQuery aligned = aligned_product_query(problem, begin, call.device);
  const std::shared_ptr<const CublasltPlan> plan = cublaslt_plan(aligned, call.algorithms);
  // The caller's arrays may be less aligned than those that the workspace was planned for.
  if (query == aligned && plan->workspace_bytes() <= call.workspace_bytes) return plan;
  query.most_workspace = call.workspace_bytes;
  return cublaslt_plan(query, call.algorithms);
}

}  // namespace

void check_cuda_matmul(const MatmulProblem& problem, const OpaqueSizes& call) {
  cuda_matmul_workspace(problem, call);
}

std::int64_t cuda_matmul_workspace(const MatmulProblem& problem, const OpaqueSizes& call) {
  if (is_trivial(problem)) return 0;
  const OnDevice device(call.device);
  std::int64_t bytes = 0;
  for (const std::int64_t begin : {std::int64_t{0}, last_part(problem)})
    bytes = std::max(
        bytes, cublaslt_plan(aligned_product_query(problem, begin, call.device), call.algorithms)
                   ->workspace_bytes());
  return bytes;
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
  const std::int64_t last = last_part(problem);
  const auto first_plan = plan_of(problem, 0, arrays, call);
  const auto last_plan = last == 0 ? first_plan : plan_of(problem, last, arrays, call);
  MatmulProblem outer = problem;  // the batch axes in front of the plan's
  MatmulProblem::Axis inner;
  if (!outer.batch.empty()) {
    inner = outer.batch.back();
    outer.batch.pop_back();
  }
  for (std::int64_t i = 0; i < outer.batches(); ++i) {
    const MatmulProblem::Offsets offsets = outer.offsets(i);
    for (std::int64_t begin = 0; begin <= last; begin += kMostBatch) {
      const CublasltPlan& plan = begin == last ? *last_plan : *first_plan;
      const std::int64_t result = i * inner_result(problem) + begin * problem.m * problem.n;
      plan.enqueue(arrays.a + (offsets.a + begin * inner.a_stride) * size_of(problem.a_dtype),
                   arrays.b + (offsets.b + begin * inner.b_stride) * size_of(problem.b_dtype),
                   arrays.result + result * size_of(problem.result_dtype), call.workspace, stream);
    }
  }
}

}  // namespace sinter
