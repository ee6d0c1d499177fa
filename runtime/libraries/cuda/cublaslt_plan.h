// CublasltPlan: the descriptors and the algorithm of one product, kept for other
// processes.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/libraries/algorithms/stored_algorithm.h"
#include "runtime/libraries/cuda/cublaslt.h"
#include "runtime/libraries/problem/matmul_problem.h"

namespace sinter {

/// Everything that decides the algorithm of a product.
struct CublasltQuery {
  MatmulProblem problem;
  int device = 0;
  int a_alignment = 256, b_alignment = 256, result_alignment = 256;  ///< bytes, powers of two
  std::int64_t most_workspace = 0;
  friend auto operator<=>(const CublasltQuery&, const CublasltQuery&) = default;
};

/// An immutable product of column-major matrices, which threads may share. cuBLASLt computes the
/// transpose of the result: resultᵀ = bᵀ aᵀ.
class CublasltPlan {
 public:
  CublasltPlan(const Cublaslt& library, cublaslt::cublasLtHandle_t handle)
      : library_(library), handle_(handle) {}
  CublasltPlan(const CublasltPlan&) = delete;
  CublasltPlan& operator=(const CublasltPlan&) = delete;
  ~CublasltPlan();

  /// Finds the algorithm, in the device's context: that of `algorithms`, which may be null, else
  /// the first one of the heuristic. Call it once, and first. Returns a stored algorithm that was
  /// refused. Throws UserError if there is none, and DriverError if cuBLASLt fails.
  std::optional<RefusedAlgorithm> prepare(const CublasltQuery& query, AlgorithmStore* algorithms);

  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  /// Puts the product of one index of the outer batch axes on the stream. The innermost batch axis
  /// is part of the plan.
  void enqueue(const void* a, const void* b, void* result, void* workspace,
               cuda::CUstream stream) const;

 private:
  void make_operation(const MatmulProblem& problem);
  void make_layouts(const MatmulProblem& problem);
  std::string take_stored(const CublasltQuery& query, const StoredAlgorithm& stored);
  StoredAlgorithm ask_heuristic(const CublasltQuery& query);
  void check(cublaslt::cublasStatus_t status, const char* call) const;

  const Cublaslt& library_;
  const cublaslt::cublasLtHandle_t handle_;
  DType result_dtype_ = f32;
  cublaslt::cublasLtMatmulDesc_t operation_ = nullptr;
  cublaslt::cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, result_ = nullptr;
  cublaslt::cublasLtMatmulAlgo_t algorithm_{};
  std::int64_t workspace_bytes_ = 0;
};

/// The plan of the query, made at its first use. The device's context must be current. Throws
/// UserError if cuBLASLt is missing or has no algorithm.
std::shared_ptr<const CublasltPlan> cublaslt_plan(const CublasltQuery& query,
                                                  AlgorithmStore* algorithms);

}  // namespace sinter
