#include "runtime/libraries/cuda/cublaslt_plan.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/libraries/algorithms/problem_text.h"
#include "runtime/libraries/cuda/on_device.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using namespace cublaslt;

cudaDataType cublaslt_type_of(DType dtype) {
  switch (dtype) {
    case f64: return CUDA_R_64F;
    case f16: return CUDA_R_16F;
    case bf16: return CUDA_R_16BF;
    case i8: return CUDA_R_8I;
    case i32: return CUDA_R_32I;
    case f8e4m3: return CUDA_R_8F_E4M3;
    case f8e5m2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_32F;
  }
}

/// The dtype of sums, of alpha and of beta.
DType sum_dtype_of(DType result) { return result == f64 || result == i32 ? result : f32; }

cublasComputeType_t compute_type_of(const MatmulProblem& problem) {
  switch (sum_dtype_of(problem.result_dtype)) {
    case f64: return CUBLAS_COMPUTE_64F;
    case i32: return CUBLAS_COMPUTE_32I;
    default: break;
  }
  const bool may_round = problem.allow_tf32 && problem.a_dtype == f32;
  return may_round ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// 0 and 1 as alpha and beta of each dtype of sums.
struct Scale {
  float f32_value;
  double f64_value;
  std::int32_t i32_value;

  const void* of(DType dtype) const {
    if (dtype == f64) return &f64_value;
    return dtype == i32 ? static_cast<const void*>(&i32_value) : &f32_value;
  }
};
constexpr Scale kZero{0, 0, 0}, kOne{1, 1, 1};

/// Advice that leads to a product with an algorithm, in terms of the op.
std::string layout_advice(const CublasltQuery& query) {
  const MatmulProblem& problem = query.problem;
  if (const int alignment =
          std::min({query.a_alignment, query.b_alignment, query.result_alignment});
      alignment < 16)
    return fmt::format(
        "; the address of an operand or of the result is only a multiple of {}: use multiples of "
        "16",
        alignment);
  if (problem.a_dtype == f8e5m2 && problem.b_dtype == f8e5m2)
    return "; it multiplies no two matrices of f8e5m2: make one operand f8e4m3, or both f16";
  if (is_f8(problem.a_dtype))
    return "; operands of f8 need sm_89 or later, with k and n multiples of 16, and on sm_89, "
           "sm_90 "
           "and sm_120 a [m, k] and b [n, k] (transpose_b, without transpose_a): transpose or pad "
           "them, or cast them to f16";
  if (problem.a_dtype == i8)
    return "; operands of i8 need a [m, k] and b [n, k] (transpose_b, without transpose_a), with k "
           "and n multiples of 4: transpose or pad them, or cast them to f32";
  return "; cast the operands to another dtype, or use smaller extents";
}

std::string product_text(const MatmulProblem& problem) {
  return fmt::format(
      "{}[{}, {}]{} times {}[{}, {}]{} to {}, {} times", name(problem.a_dtype),
      problem.transpose_a ? problem.k : problem.m, problem.transpose_a ? problem.m : problem.k,
      problem.transpose_a ? " transposed" : "", name(problem.b_dtype),
      problem.transpose_b ? problem.n : problem.k, problem.transpose_b ? problem.k : problem.n,
      problem.transpose_b ? " transposed" : "", name(problem.result_dtype), problem.batches());
}

AlgorithmKey algorithm_key(const Cublaslt& library, const CublasltQuery& query) {
  return {.library =
              fmt::format("cuBLASLt {}, {}", library.table.cublasLtGetVersion(), selection_text()),
          .device = device_text(query.device),
          .problem = fmt::format("{} aligned to {}, {} and {} bytes, workspace of {} bytes",
                                 problem_text(query.problem), query.a_alignment, query.b_alignment,
                                 query.result_alignment, query.most_workspace)};
}

}  // namespace

std::optional<RefusedAlgorithm> CublasltPlan::prepare(const CublasltQuery& query,
                                                      AlgorithmStore* algorithms) {
  result_dtype_ = query.problem.result_dtype;
  make_operation(query.problem);
  make_layouts(query.problem);
  return take_or_choose(algorithms, algorithm_key(library_, query),
                        {.take = [&](const auto& stored) { return take_stored(query, stored); },
                         .choose = [&] { return ask_heuristic(query); }});
}

CublasltPlan::~CublasltPlan() {
  if (operation_) library_.table.cublasLtMatmulDescDestroy(operation_);
  for (const cublasLtMatrixLayout_t layout : {a_, b_, result_})
    if (layout) library_.table.cublasLtMatrixLayoutDestroy(layout);
}

void CublasltPlan::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DriverError(fmt::format("{} of cuBLASLt {} failed: {}", call, library_.version_text(),
                                library_.table.cublasLtGetStatusName(status)),
                    status);
}

void CublasltPlan::make_operation(const MatmulProblem& problem) {
  const Table& table = library_.table;
  check(table.cublasLtMatmulDescCreate(&operation_, compute_type_of(problem),
                                       cublaslt_type_of(sum_dtype_of(problem.result_dtype))),
        "cublasLtMatmulDescCreate");
  // A row-major matrix is the transpose of a column-major one. The first operand of the library is
  // b, the second is a.
  const cublasOperation_t of_b = problem.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t of_a = problem.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(table.cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &of_b,
                                             sizeof(of_b)),
        "cublasLtMatmulDescSetAttribute");
  check(table.cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSB, &of_a,
                                             sizeof(of_a)),
        "cublasLtMatmulDescSetAttribute");
}

void CublasltPlan::make_layouts(const MatmulProblem& problem) {
  const Table& table = library_.table;
  // A row-major matrix of `rows` and `columns` has `columns` rows for the library.
  const auto make = [&](cublasLtMatrixLayout_t& layout, DType dtype, std::int64_t rows,
                        std::int64_t columns, std::int64_t batch_stride) {
    check(table.cublasLtMatrixLayoutCreate(&layout, cublaslt_type_of(dtype),
                                           static_cast<std::uint64_t>(columns),
                                           static_cast<std::uint64_t>(rows), columns),
          "cublasLtMatrixLayoutCreate");
    if (problem.batch.empty()) return;
    const auto count = static_cast<std::int32_t>(problem.batch.back().extent);
    check(table.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                 sizeof(count)),
          "cublasLtMatrixLayoutSetAttribute");
    check(
        table.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                               &batch_stride, sizeof(batch_stride)),
        "cublasLtMatrixLayoutSetAttribute");
  };
  const MatmulProblem::Axis inner =
      problem.batch.empty() ? MatmulProblem::Axis() : problem.batch.back();
  const auto [m, n, k] = std::tuple(problem.m, problem.n, problem.k);
  make(a_, problem.a_dtype, problem.transpose_a ? k : m, problem.transpose_a ? m : k,
       inner.a_stride);
  make(b_, problem.b_dtype, problem.transpose_b ? n : k, problem.transpose_b ? k : n,
       inner.b_stride);
  make(result_, problem.result_dtype, m, n, m * n);
}

/// Takes a stored algorithm. Returns why it cannot be used.
std::string CublasltPlan::take_stored(const CublasltQuery& query, const StoredAlgorithm& stored) {
  cublasLtMatmulAlgo_t algorithm{};
  if (stored.data.size() != sizeof(algorithm))
    return fmt::format("it has {} bytes, not {}", stored.data.size(), sizeof(algorithm));
  std::memcpy(&algorithm, stored.data.data(), sizeof(algorithm));
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status = library_.table.cublasLtMatmulAlgoCheck(
      handle_, operation_, b_, a_, result_, result_, &algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS) return library_.table.cublasLtGetStatusName(status);
  if (result.workspaceSize > static_cast<std::size_t>(query.most_workspace))
    return fmt::format("it needs a workspace of {} bytes, more than {}", result.workspaceSize,
                       query.most_workspace);
  algorithm_ = algorithm;
  workspace_bytes_ = static_cast<std::int64_t>(result.workspaceSize);
  return {};
}

/// Takes the first algorithm of the heuristic.
StoredAlgorithm CublasltPlan::ask_heuristic(const CublasltQuery& query) {
  const Table& table = library_.table;
  struct Preference {
    const Table& table;
    cublasLtMatmulPreference_t handle = nullptr;
    ~Preference() {
      if (handle) table.cublasLtMatmulPreferenceDestroy(handle);
    }
  } preference{table};
  check(table.cublasLtMatmulPreferenceCreate(&preference.handle), "cublasLtMatmulPreferenceCreate");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(table.cublasLtMatmulPreferenceSetAttribute(preference.handle, attribute, &value,
                                                     sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(query.most_workspace));
  // Other schemes add parts of a sum in the dtype of the result, which rounds them.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(query.b_alignment));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(query.a_alignment));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(attribute, static_cast<std::uint32_t>(query.result_alignment));

  cublasLtMatmulHeuristicResult_t found[8] = {};
  int count = 0;
  const cublasStatus_t status = table.cublasLtMatmulAlgoGetHeuristic(
      handle_, operation_, b_, a_, result_, result_, preference.handle,
      static_cast<int>(std::size(found)), found, &count);
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& one = found[i];
    if (one.state != CUBLAS_STATUS_SUCCESS ||
        one.workspaceSize > static_cast<std::size_t>(query.most_workspace))
      continue;
    algorithm_ = one.algo;
    workspace_bytes_ = static_cast<std::int64_t>(one.workspaceSize);
    const auto bytes = std::as_bytes(std::span(&algorithm_, 1));
    return {.workspace_bytes = workspace_bytes_, .data = {bytes.begin(), bytes.end()}};
  }
  throw UserError(fmt::format(
      "cuBLASLt {} has no algorithm for {} ({}){}", library_.version_text(),
      product_text(query.problem),
      table.cublasLtGetStatusName(status == CUBLAS_STATUS_SUCCESS ? CUBLAS_STATUS_NOT_SUPPORTED
                                                                  : status),
      layout_advice(query)));
}

void CublasltPlan::enqueue(const void* a, const void* b, void* result, void* workspace,
                           cuda::CUstream stream) const {
  const DType dtype = sum_dtype_of(result_dtype_);
  check(
      library_.table.cublasLtMatmul(handle_, operation_, kOne.of(dtype), b, b_, a, a_,
                                    kZero.of(dtype), result, result_, result, result_, &algorithm_,
                                    workspace, static_cast<std::size_t>(workspace_bytes_), stream),
      "cublasLtMatmul");
}

namespace {

/// The handle of each device, and all plans. Never destroyed: other threads may use them while the
/// process ends.
struct CublasltPlans {
  std::mutex mutex;
  std::map<int, cublasLtHandle_t> handles;
  std::map<CublasltQuery, std::shared_ptr<const CublasltPlan>> plans;
};

/// A program with ever new sizes must not fill the memory.
constexpr std::size_t kMostCublasltPlans = 4096;

/// A plan, and a stored algorithm that was refused when it was made.
struct FoundCublasltPlan {
  std::shared_ptr<const CublasltPlan> plan;
  std::optional<RefusedAlgorithm> refused = {};
};

FoundCublasltPlan find_or_make_cublaslt_plan(const Cublaslt& library, const CublasltQuery& query,
                                             AlgorithmStore* algorithms) {
  static auto& all = *new CublasltPlans;
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.plans.find(query); found != all.plans.end()) return {found->second};
  cublasLtHandle_t& handle = all.handles[query.device];
  if (!handle)
    if (const cublasStatus_t status = library.table.cublasLtCreate(&handle);
        status != CUBLAS_STATUS_SUCCESS)
      throw DriverError(
          fmt::format("cublasLtCreate of cuBLASLt {} on cuda:{} failed: {}", library.version_text(),
                      query.device, library.table.cublasLtGetStatusName(status)),
          status);
  const auto plan = std::make_shared<CublasltPlan>(library, handle);
  std::optional<RefusedAlgorithm> refused = plan->prepare(query, algorithms);
  if (all.plans.size() >= kMostCublasltPlans) all.plans.clear();
  all.plans.emplace(query, plan);
  return {.plan = plan, .refused = std::move(refused)};
}

}  // namespace

std::shared_ptr<const CublasltPlan> cublaslt_plan(const CublasltQuery& query,
                                                  AlgorithmStore* algorithms) {
  const CublasltOrReason& opened = find_cublaslt();
  if (!opened.library)
    throw UserError(fmt::format("matmul on cuda:{} needs {}", query.device, opened.reason));
  const FoundCublasltPlan found = find_or_make_cublaslt_plan(*opened.library, query, algorithms);
  log_refusal(algorithms, found.refused);  // without the lock: the user's log may run programs
  return found.plan;
}

}  // namespace sinter
