// Entry points: launches of kernels and host functions, and occupancy.
#include "tests/virtual_gpu/driver/launch.h"

#include <limits>

#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"

namespace sinter::virtual_gpu::driver {

namespace {

void launch_kernel(Call& call, const CUlaunchConfig& config, CUfunction function, void** parameters,
                   void** extra) {
  const std::shared_ptr<FunctionObject> found = find_function(call, function);
  StreamObject& stream = *find_usable_stream(call, config.hStream);
  if (stream.context != found->context)
    throw Refusal(CUDA_ERROR_INVALID_HANDLE, "the function and the stream are of two contexts");
  put(call.machine, stream,
      make_operation(checked_launch(found, config, parameters, extra,
                                    call.machine.configuration.starts_early)));
}

/// The launch that cuOccupancyMaxActiveClusters asks about.
KernelLaunch occupancy_launch(const std::shared_ptr<FunctionObject>& function,
                              const CUlaunchConfig& config) {
  KernelLaunch launch{.function = function,
                      .grid = {config.gridDimX, config.gridDimY, config.gridDimZ},
                      .block = {config.blockDimX, config.blockDimY, config.blockDimZ},
                      .shared_bytes = config.sharedMemBytes};
  require(launch.block.count() > 0 &&
              launch.block.count() <= static_cast<std::uint64_t>(function->info.max_threads),
          "the block is empty or has too many threads");
  require(config.numAttrs == 0 || config.attrs, "attrs is null");
  for (unsigned i = 0; i < config.numAttrs; ++i)
    set_attribute(launch, config.attrs[i].id, config.attrs[i].value);
  if (!launch.has_cluster && function->cluster[0] > 0)
    launch.cluster = {static_cast<unsigned>(function->cluster[0]),
                      static_cast<unsigned>(function->cluster[1]),
                      static_cast<unsigned>(function->cluster[2])};
  require(launch.has_cluster || function->cluster[0] > 0, "the size of the cluster is not given");
  launch.is_cooperative = false;  // the question is about clusters only
  check_combination(launch);
  return launch;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  return enter("cuLaunchKernelEx", Needs::context, [&](Call& call) {
    require(config, "config is null");
    launch_kernel(call, *config, function, parameters, extra);
  });
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void** extra) {
  return enter("cuLaunchKernel", Needs::context, [&](Call& call) {
    launch_kernel(call,
                  {.gridDimX = grid_x,
                   .gridDimY = grid_y,
                   .gridDimZ = grid_z,
                   .blockDimX = block_x,
                   .blockDimY = block_y,
                   .blockDimZ = block_z,
                   .sharedMemBytes = shared_bytes,
                   .hStream = stream,
                   .attrs = nullptr,
                   .numAttrs = 0},
                  function, parameters, extra);
  });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return enter("cuLaunchHostFunc", Needs::context, [&](Call& call) {
    StreamObject& found = *find_usable_stream(call, stream);
    require(function, "function is null");
    put(call.machine, found, make_operation(HostCall{.function = function, .data = data}));
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     std::size_t shared_bytes) {
  return enter("cuOccupancyMaxActiveBlocksPerMultiprocessor", Needs::context, [&](Call& call) {
    const std::shared_ptr<FunctionObject> found = find_function(call, function);
    require(blocks && threads > 0, "an argument is null or not positive");
    const bool fits = threads <= found->info.max_threads &&
                      shared_bytes <= static_cast<std::size_t>(found->max_dynamic_shared);
    *blocks = fits ? found->context->gpu->blocks_per_sm(*found->program, found->entry, threads,
                                                        static_cast<std::int64_t>(shared_bytes))
                   : 0;
  });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  return enter("cuOccupancyMaxActiveClusters", Needs::context, [&](Call& call) {
    const std::shared_ptr<FunctionObject> found = find_function(call, function);
    require(clusters && config, "an argument is null");
    const KernelLaunch launch = occupancy_launch(found, *config);
    *clusters = found->context->gpu->active_clusters(request_of(launch));
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
