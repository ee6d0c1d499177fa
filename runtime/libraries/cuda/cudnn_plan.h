// CudnnPlan: the execution plan of one convolution, kept for other processes.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/libraries/algorithms/stored_algorithm.h"
#include "runtime/libraries/cuda/cudnn_descriptor.h"
#include "runtime/libraries/problem/conv_problem.h"

namespace sinter {

/// Everything that decides the plan of a convolution.
struct CudnnQuery {
  ConvProblem problem;
  int device = 0;
  int alignment = 16;  ///< of all arrays, in bytes: a power of two
  std::int64_t most_workspace = 0;
  friend auto operator<=>(const CudnnQuery&, const CudnnQuery&) = default;
};

/// The handle of a device. Only one thread at a time may find a plan with it, or put work on a
/// stream.
struct CudnnDevice {
  cudnn::cudnnHandle_t handle = nullptr;
  std::mutex mutex;  ///< of the handle
};

/// An immutable plan, which threads may share.
class CudnnPlan {
 public:
  CudnnPlan(const Cudnn& library, CudnnDevice& device)
      : library_(library), device_(device), plan_(library) {}

  /// Finds the plan: that of `algorithms`, which may be null, else the first one of the heuristics.
  /// The device's context must be current, and the mutex of its handle locked. Call it once, and
  /// first. Returns a stored plan that was refused. Throws UserError if no engine supports the
  /// convolution, and DriverError if cuDNN fails.
  std::optional<RefusedAlgorithm> prepare(const CudnnQuery& query, AlgorithmStore* algorithms);

  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  /// Puts the convolution on the stream.
  void enqueue(void* x, void* w, void* y, void* workspace, cuda::CUstream stream) const;

 private:
  CudnnDescriptor operation_graph(const CudnnQuery& query) const;
  bool take_first(const CudnnDescriptor& graph, cudnn::cudnnBackendHeurMode_t mode,
                  const CudnnQuery& query);
  bool may_use(const CudnnDescriptor& config, const ConvProblem& problem) const;
  bool take(const CudnnDescriptor& config, std::int64_t most_workspace);
  std::int64_t workspace_of(const CudnnDescriptor& plan) const;
  std::string take_stored(const CudnnQuery& query, const StoredAlgorithm& stored);
  std::optional<StoredAlgorithm> ask_heuristics(const CudnnQuery& query);

  const Cudnn& library_;
  CudnnDevice& device_;
  CudnnDescriptor plan_;
  std::int64_t workspace_bytes_ = 0;
  bool may_store_ = true;  ///< no configuration was skipped because of a failure
};

/// The plan of the query, made at its first use. The device's context must be current. A plan that
/// `is_captured` lives until the process ends. CUDA Graphs need its kernels, which may be compiled
/// for the plan and be unloaded with it. Throws UserError if cuDNN is missing or has no engine.
std::shared_ptr<const CudnnPlan> cudnn_plan(const CudnnQuery& query, AlgorithmStore* algorithms,
                                            bool is_captured = false);

/// `conv`, or `the data gradient of conv`
const char* conv_text(ConvKind kind);

}  // namespace sinter
