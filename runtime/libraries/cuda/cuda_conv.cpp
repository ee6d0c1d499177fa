#include "runtime/libraries/cuda/cuda_conv.h"

#include <algorithm>
#include <bit>

#include "runtime/libraries/cuda/cudnn_plan.h"
#include "runtime/libraries/cuda/on_device.h"

namespace sinter {

namespace {

constexpr std::int64_t kArrayAlignment = 16;  // of sinter's memory, as far as cuDNN uses it

/// No array has elements: the result is empty, or all its sums are.
bool has_no_products(const OpaqueSizes& call) {
  const auto is_empty = [](const OpaqueArray& array) { return array.elements() == 0; };
  return std::ranges::any_of(call.inputs, is_empty) || is_empty(call.outputs[0]);
}

/// Some engines convert the layout of all arrays in the workspace.
std::int64_t most_conv_workspace(const OpaqueSizes& call) {
  constexpr std::int64_t kAlways = std::int64_t{256} << 20;
  std::int64_t bytes = call.outputs[0].bytes();
  for (const OpaqueArray& input : call.inputs) bytes += input.bytes();
  return std::max(kAlways, 2 * bytes);
}

CudnnQuery aligned_query(const ConvProblem& problem, const OpaqueSizes& call) {
  return {.problem = problem,
          .device = call.device,
          .alignment = kArrayAlignment,
          .most_workspace = most_conv_workspace(call)};
}

}  // namespace

void check_cuda_conv(const ConvProblem& problem, const OpaqueSizes& call) {
  cuda_conv_workspace(problem, call);
}

std::int64_t cuda_conv_workspace(const ConvProblem& problem, const OpaqueSizes& call) {
  if (has_no_products(call)) return 0;
  const OnDevice device(call.device);
  return cudnn_plan(aligned_query(problem, call), call.algorithms)->workspace_bytes();
}

void enqueue_cuda_conv(const ConvProblem& problem, const CudaConvArrays& arrays,
                       const OpaqueCall& call) {
  const OnDevice device(call.device);
  const auto stream = static_cast<CUstream>(call.stream);
  const Driver& driver = device.state.driver;
  const auto bytes = static_cast<std::size_t>(call.outputs[0].bytes());
  if (bytes == 0) return;
  if (has_no_products(call))
    return check(driver,
                 driver.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(call.outputs[0].data), 0,
                                        bytes, stream),
                 "cuMemsetD8Async", "a convolution without products");
  std::uint64_t addresses = kArrayAlignment;
  for (const void* const data : {arrays.x, arrays.w, arrays.y})
    addresses |= reinterpret_cast<std::uintptr_t>(data);
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver, driver.cuStreamIsCapturing(stream, &capture), "cuStreamIsCapturing",
        "a convolution");
  const bool is_captured = capture != CU_STREAM_CAPTURE_STATUS_NONE;
  CudnnQuery query = aligned_query(problem, call);
  std::shared_ptr<const CudnnPlan> plan = cudnn_plan(query, call.algorithms, is_captured);
  // The caller's arrays may be less aligned than those that the workspace was planned for.
  query.alignment = 1 << std::countr_zero(addresses);
  if (query.alignment != kArrayAlignment || plan->workspace_bytes() > call.workspace_bytes) {
    query.most_workspace = call.workspace_bytes;
    plan = cudnn_plan(query, call.algorithms, is_captured);
  }
  plan->enqueue(arrays.x, arrays.w, arrays.y, call.workspace, stream);
}

}  // namespace sinter
