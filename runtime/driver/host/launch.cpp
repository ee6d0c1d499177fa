// The entry points for functions and launches.
#include "runtime/driver/host/capture.h"
#include "runtime/driver/host/state.h"
#include "runtime/logging/trace.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

namespace sinter::host {
namespace {

using device_abi::Index3;

constexpr int kMaxDynamicSharedBytes = 232448;
constexpr unsigned kPortableCluster = 8;
constexpr unsigned kLargestCluster = 16;

CUresult invalid_function() {
  return fail(CUDA_ERROR_INVALID_HANDLE, "that function's module is not loaded (any more)");
}

std::string extents_text(const Index3& extents) {
  return fmt::format("[{}, {}, {}]", extents.x, extents.y, extents.z);
}

/// The part of the shape that is invalid, as text; empty if it is valid.
std::string invalid_shape_text(const FunctionState& function, const LaunchShape& shape) {
  constexpr unsigned kMaxThreads = 1024;
  const auto& [grid, block, shared_bytes] = shape;
  if (volume(grid) == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return "grid " + extents_text(grid);
  if (block.x > kMaxThreads || block.y > kMaxThreads || block.z > 64 || volume(block) == 0 ||
      volume(block) > kMaxThreads)
    return "block " + extents_text(block);
  const auto allowed = static_cast<unsigned>(function.max_dynamic_shared_bytes.load());
  if (shared_bytes > allowed)
    return fmt::format("{} bytes of shared memory, {} allowed", shared_bytes, allowed);
  return {};
}

}  // namespace

CUresult make_launch(CUfunction function, const LaunchShape& shape, void** parameters, void** extra,
                     KernelLaunch& launch) {
  const auto state = find_function(function);
  if (!state) return invalid_function();
  const device_abi::KernelInfo& kernel = *state->kernel;
  if (extra) return fail(CUDA_ERROR_NOT_SUPPORTED, "packed parameters (extra)");
  if (!parameters && kernel.parameter_count > 0)
    return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("kernel {}: no parameters", kernel.entry));
  if (const std::string wrong = invalid_shape_text(*state, shape); !wrong.empty())
    return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("kernel {}: {}", kernel.entry, wrong));
  if (volume(shape.block) > kernel.threads)
    return fail(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                fmt::format("kernel {}: block {}, built for at most {} threads", kernel.entry,
                            extents_text(shape.block), kernel.threads));
  launch = {.kernel = &kernel,
            .module = state->module,
            .grid = shape.grid,
            .block = shape.block,
            .shared_bytes = shape.shared_bytes,
            .largest_cluster = state->allows_large_clusters ? kLargestCluster : kPortableCluster,
            .parameters = pack_parameters(kernel, parameters)};
  return CUDA_SUCCESS;
}

CUresult apply_attribute(CUlaunchAttributeID attribute, const CUlaunchAttributeValue& value,
                         KernelLaunch& launch) {
  const auto& cluster = value.clusterDim;
  if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    if (cluster.y > 1 || cluster.z > 1)
      return fail(CUDA_ERROR_NOT_SUPPORTED,
                  "clusters of " + extents_text({cluster.x, cluster.y, cluster.z}) + " blocks");
    launch.cluster = std::max(cluster.x, 1u);
  }
  if (attribute == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
    launch.may_start_early = value.programmaticStreamSerializationAllowed != 0;
  if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) launch.is_cooperative = value.cooperative != 0;
  return CUDA_SUCCESS;
}

CUresult check_clusters(const KernelLaunch& launch) {
  const auto refuse = [&](const std::string& why) {
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                fmt::format("kernel {}: clusters of {} blocks, {}", launch.kernel->entry,
                            launch.cluster, why));
  };
  if (launch.cluster > launch.largest_cluster)
    return refuse(fmt::format("the function allows {}", launch.largest_cluster));
  if (launch.grid.x % launch.cluster != 0)
    return refuse("which do not divide the grid " + extents_text(launch.grid));
  if (launch.cluster > 1 && launch.is_cooperative)
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                fmt::format("kernel {}: clusters in a cooperative launch", launch.kernel->entry));
  return CUDA_SUCCESS;
}

CUresult check_residence(const KernelLaunch& launch) {
  if (const CUresult result = check_clusters(launch); result != CUDA_SUCCESS) return result;
  return result_of(cooperative_launch_failure(launch));
}

namespace {

void count_launch(const KernelLaunch& launch, const LaunchResult& result) {
  update_counters([&](Counters& counters) {
    ++counters.kernels;
    counters.bytes_read += result.bytes_read;
    counters.bytes_written += result.bytes_written;
    if (auto& all = counters.launches; all.size() == Counters::kMaxLaunches)
      all.erase(all.begin(), all.begin() + Counters::kMaxLaunches / 2);
    counters.launches.push_back({.kernel = launch.kernel->entry,
                                 .grid = {launch.grid.x, launch.grid.y, launch.grid.z},
                                 .block = {launch.block.x, launch.block.y, launch.block.z},
                                 .cluster = launch.cluster,
                                 .shared_bytes = launch.shared_bytes,
                                 .bytes_read = result.bytes_read,
                                 .bytes_written = result.bytes_written});
  });
}

}  // namespace

Failure run_kernel(const KernelLaunch& launch, PriorLaunches* prior) {
  const TraceSpan span("host kernel", launch.kernel->entry);
  LaunchResult result = execute(launch, scheduler().random(), prior);
  try {
    count_launch(launch, result);
  } catch (const std::bad_alloc&) {  // the launch is done even if it is missing from the list
  }
  return std::move(result.failure);
}

namespace entry {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const auto state = find_function(function);
  if (!state) return invalid_function();
  if (attribute != CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES && attribute != CU_FUNC_ATTRIBUTE_NUM_REGS)
    return fail(CUDA_ERROR_INVALID_VALUE, "that function attribute is not known");
  *value = 0;  // the host has no values for these
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  const auto state = find_function(function);
  if (!state) return invalid_function();
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    state->allows_large_clusters = value != 0;
    return CUDA_SUCCESS;
  }
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return fail(CUDA_ERROR_INVALID_VALUE, "that function attribute cannot be set");
  if (value < 0 || value > kMaxDynamicSharedBytes)
    return fail(CUDA_ERROR_INVALID_VALUE,
                fmt::format("{} bytes of shared memory, the device has {} for a block", value,
                            kMaxDynamicSharedBytes));
  state->max_dynamic_shared_bytes = value;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                            std::size_t* bytes) {
  const auto state = find_function(function);
  if (!state) return invalid_function();
  if (!offset) return fail(CUDA_ERROR_INVALID_VALUE, "a null offset of a parameter");
  // Without an error text: callers find the number of parameters by this result.
  if (index >= state->kernel->parameter_count) return CUDA_ERROR_INVALID_VALUE;
  constexpr std::size_t kMaxAlignment = 8;  // of an array of numbers, too
  std::size_t at = 0;
  for (std::size_t i = 0; i <= index; ++i) {
    const std::size_t size = state->kernel->parameter_bytes[i];
    const std::size_t alignment = std::min(size, kMaxAlignment);
    *offset = (at + alignment - 1) / alignment * alignment;
    at = *offset + size;
  }
  if (bytes) *bytes = state->kernel->parameter_bytes[index];
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     std::size_t shared_bytes) {
  const auto state = find_function(function);
  if (!state) return invalid_function();
  if (threads < 1 || threads > 1024 || shared_bytes > kMaxDynamicSharedBytes)
    return fail(CUDA_ERROR_INVALID_VALUE,
                fmt::format("{} threads, {} bytes of shared memory", threads, shared_bytes));
  // An OS thread, which acts as a multiprocessor, runs one block at a time.
  *blocks = static_cast<unsigned>(threads) <= state->kernel->threads ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  if (!config || !clusters) return fail(CUDA_ERROR_INVALID_VALUE, "a null launch configuration");
  const auto state = find_function(function);
  if (!state) return invalid_function();
  const unsigned most = state->allows_large_clusters ? kLargestCluster : kPortableCluster;
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
        config->attrs[i].value.clusterDim.x > most)
      return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                  fmt::format("clusters of {} blocks, the function allows {}",
                              config->attrs[i].value.clusterDim.x, most));
  *clusters = workers();  // an OS thread runs one cluster at a time
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  if (!config) return fail(CUDA_ERROR_INVALID_VALUE, "a null launch configuration");
  const auto stream = find_stream(config->hStream);
  if (!stream) return invalid_stream();
  if (const auto state = find_function(function); state && state->device != stream->device)
    return fail(CUDA_ERROR_INVALID_HANDLE,
                fmt::format("the kernel was loaded on device {}, the stream is of device {}",
                            state->device, stream->device));
  const LaunchShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                          {config->blockDimX, config->blockDimY, config->blockDimZ},
                          config->sharedMemBytes};
  KernelLaunch launch;
  if (const CUresult result = make_launch(function, shape, parameters, extra, launch);
      result != CUDA_SUCCESS)
    return result;
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (const CUresult result =
            apply_attribute(config->attrs[i].id, config->attrs[i].value, launch);
        result != CUDA_SUCCESS)
      return result;
  if (const CUresult result = check_residence(launch); result != CUDA_SUCCESS) return result;
  if (is_capturing(stream))
    return capture_work(stream, KernelWork{.function = function, .launch = std::move(launch)});
  scheduler().submit(stream, {.run = [launch = std::move(launch)] { return run_kernel(launch); }});
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
