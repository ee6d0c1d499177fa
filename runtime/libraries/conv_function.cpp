#include "runtime/libraries/conv_function.h"

#include "runtime/libraries/cuda/cuda_conv.h"
#include "runtime/libraries/host/host_conv.h"
#include "runtime/libraries/onednn/onednn_conv.h"

namespace sinter {

namespace {

ConvArrays arrays_of(ConvKind kind, const OpaqueCall& call) {
  void* const first = call.inputs[0].data;
  void* const second = call.inputs[1].data;
  void* const result = call.outputs[0].data;
  switch (kind) {
    case ConvKind::forward: return {.x = first, .w = second, .y = result};
    case ConvKind::data_gradient: return {.x = result, .w = second, .y = first};
    case ConvKind::weight_gradient: return {.x = first, .w = result, .y = second};
  }
  return {};
}

/// The convolution by oneDNN; null if products compute it.
std::shared_ptr<const OneDnnConv> onednn_conv_of(const ConvProblem& problem) {
  const OneDnn* const library = host_onednn();
  if (!library || is_faster_as_product(problem)) return nullptr;
  return onednn_conv(*library, problem);
}

int enqueue_conv(ConvKind kind, const OpaqueCall& call) {
  const ConvProblem problem = conv_problem(kind, call);
  const ConvArrays arrays = arrays_of(kind, call);
  if (!call.is_host_device) {
    enqueue_cuda_conv(problem, {.x = arrays.x, .w = arrays.w, .y = arrays.y}, call);
    return 0;
  }
  const HostWorkspace workspace{.data = call.workspace, .bytes = call.workspace_bytes};
  if (auto conv = onednn_conv_of(problem))
    call.on_host([=] { conv->run(arrays, workspace); });
  else
    call.on_host([=, &blas = host_blas()] { host_conv(problem, arrays, blas, workspace); });
  return 0;
}

std::int64_t conv_workspace(ConvKind kind, const OpaqueSizes& call) {
  const ConvProblem problem = conv_problem(kind, call);
  if (!call.is_host_device) return cuda_conv_workspace(problem, call);
  if (const auto conv = onednn_conv_of(problem)) return conv->workspace_bytes();
  return host_conv_workspace(problem, host_blas());
}

void check_conv(ConvKind kind, const OpaqueSizes& call) {
  const ConvProblem problem = conv_problem(kind, call);
  if (!call.is_host_device) return check_cuda_conv(problem, call);
  host_blas();
  host_onednn();
}

}  // namespace

OpaqueFunction conv_function(ConvKind kind) {
  return {
      .enqueue = [kind](const OpaqueCall& call) { return enqueue_conv(kind, call); },
      .workspace = [kind](const OpaqueSizes& call) { return conv_workspace(kind, call); },
      .check = [kind](const OpaqueSizes& call) { check_conv(kind, call); },
  };
}

}  // namespace sinter
