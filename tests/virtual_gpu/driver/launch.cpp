#include "tests/virtual_gpu/driver/launch.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sinter::virtual_gpu::driver {

namespace {

constexpr unsigned kMostGridX = std::numeric_limits<int>::max();
constexpr unsigned kMostGridYz = 65535;
constexpr unsigned kMostBlockXy = 1024;
constexpr unsigned kMostBlockZ = 64;
constexpr std::uint64_t kMostThreads = 1024;
constexpr int kProgrammaticCapability = 90;  ///< the least with programmatic dependent launch

const GpuLimits& limits_of(const FunctionObject& function) {
  return function.context->device->limits;
}

void check_sizes(const FunctionObject& function, const Index3& grid, const Index3& block,
                 unsigned shared_bytes) {
  const KernelInfo& info = function.info;
  require(
      grid.count() > 0 && grid.x <= kMostGridX && grid.y <= kMostGridYz && grid.z <= kMostGridYz,
      "the grid is empty or too large");
  require(block.count() > 0 && block.x <= kMostBlockXy && block.y <= kMostBlockXy &&
              block.z <= kMostBlockZ && block.count() <= kMostThreads,
          "the block is empty or has too many threads");
  const auto threads = static_cast<int>(block.count());
  require(threads <= info.max_threads, "the block has more threads than .maxntid permits");
  const std::array<int, 3>& required = info.required_threads;
  require(required[0] == 0 || (static_cast<int>(block.x) == required[0] &&
                               static_cast<int>(block.y) == std::max(required[1], 1) &&
                               static_cast<int>(block.z) == std::max(required[2], 1)),
          "the block has another size than .reqntid");
  require(shared_bytes <= static_cast<unsigned>(function.max_dynamic_shared),
          "dynamic shared memory exceeds CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES");
  if (std::int64_t{info.registers} * threads > limits_of(function).registers_per_sm)
    throw Refusal(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                  "a block needs more registers than an SM has");
}

/// Copies the parameters from one address each.
std::vector<std::byte> gather_parameters(const KernelInfo& info, void** addresses) {
  std::vector<std::byte> bytes(info.parameter_bytes);
  if (info.parameters.empty()) return bytes;
  require(addresses != nullptr, "the kernel has parameters, but there are none");
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    require(addresses[i] != nullptr, "the address of a parameter is null");
    std::memcpy(bytes.data() + info.parameters[i].offset, addresses[i], info.parameters[i].bytes);
  }
  return bytes;
}

/// Reads the parameters from the buffer that `extra` names.
std::vector<std::byte> parameters_in(const KernelInfo& info, void** extra) {
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (; *extra; extra += 2) {
    const auto key = reinterpret_cast<std::size_t>(extra[0]);
    require(extra[1] != nullptr, "a value of `extra` is null");
    if (key == kLaunchParamBufferPointer)
      buffer = extra[1];
    else if (key == kLaunchParamBufferSize)
      size = *static_cast<const std::size_t*>(extra[1]);
    else
      require(false, "`extra` has an unknown key");
  }
  require(size == info.parameter_bytes && (size == 0 || buffer),
          "the buffer of `extra` has another size than the parameters");
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), buffer, size);
  return bytes;
}

std::vector<std::byte> parameters_of(const KernelInfo& info, void** parameters, void** extra) {
  require(!parameters || !extra, "both kernelParams and extra are given");
  return extra ? parameters_in(info, extra) : gather_parameters(info, parameters);
}

void check_cluster(const KernelLaunch& launch) {
  const FunctionObject& function = *launch.function;
  const auto refuse = [](const char* reason) {
    throw Refusal(CUDA_ERROR_INVALID_CLUSTER_SIZE, reason);
  };
  if (!launch.has_cluster && function.cluster[0] == 0) return;
  if (!limits_of(function).has_clusters)
    throw Refusal(CUDA_ERROR_NOT_SUPPORTED, "the device has no clusters");
  const Index3& cluster = launch.cluster;
  if (cluster.count() == 0) refuse("a dimension of the cluster is 0");
  if (function.cluster[0] > 0 && (static_cast<int>(cluster.x) != function.cluster[0] ||
                                  static_cast<int>(cluster.y) != function.cluster[1] ||
                                  static_cast<int>(cluster.z) != function.cluster[2]))
    refuse("the cluster has another size than the kernel requires");
  if (launch.grid.x % cluster.x != 0 || launch.grid.y % cluster.y != 0 ||
      launch.grid.z % cluster.z != 0)
    refuse("the grid is no multiple of the cluster");
  const unsigned most =
      function.allows_large_clusters ? kMostClusterBlocks : kPortableClusterBlocks;
  if (cluster.count() > most)
    refuse(
        "the cluster has more blocks than CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED "
        "permits");
}

/// The cluster of a launch whose attributes do not give one.
void set_default_cluster(KernelLaunch& launch) {
  const std::array<int, 3>& required = launch.function->cluster;
  if (launch.has_cluster || required[0] == 0) return;
  launch.cluster = {static_cast<unsigned>(required[0]), static_cast<unsigned>(required[1]),
                    static_cast<unsigned>(required[2])};
}

}  // namespace

void check_programmatic(const KernelLaunch& launch) {
  if (limits_of(*launch.function).compute_capability < kProgrammaticCapability)
    throw Refusal(CUDA_ERROR_NOT_SUPPORTED, "the device has no programmatic dependent launch");
}

bool may_wait_itself(const KernelLaunch& launch) {
  return launch.function->info.waits_for_prior_launches &&
         limits_of(*launch.function).compute_capability >= kProgrammaticCapability;
}

void set_attribute(KernelLaunch& launch, CUlaunchAttributeID id,
                   const CUlaunchAttributeValue& value) {
  switch (static_cast<unsigned>(id)) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: launch.is_cooperative = value.cooperative != 0; return;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      launch.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
      launch.has_cluster = true;
      return;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      launch.is_programmatic = value.programmaticStreamSerializationAllowed != 0;
      if (launch.is_programmatic) check_programmatic(launch);
      return;
    case kAttributeIgnore:
    case kAttributeAccessPolicyWindow:
    case kAttributeSynchronizationPolicy:
    case kAttributeClusterSchedulingPolicy:
    case kAttributePriority:
    case kAttributeMemSyncDomainMap:
    case kAttributeMemSyncDomain: return;  // hints, which change no result
    default: throw Refusal(CUDA_ERROR_INVALID_VALUE, "the launch attribute is not modelled");
  }
}

void check_combination(const KernelLaunch& launch) {
  check_cluster(launch);
  if (!launch.is_cooperative) return;
  const FunctionObject& function = *launch.function;
  const Gpu& gpu = *function.context->gpu;
  const auto threads = static_cast<int>(launch.block.count());
  const int sm_count = limits_of(function).sm_count;
  const std::uint64_t resident =
      launch.cluster.count() > 1
          ? static_cast<std::uint64_t>(gpu.active_clusters(request_of(launch))) *
                launch.cluster.count()
          : static_cast<std::uint64_t>(gpu.blocks_per_sm(*function.program, function.entry, threads,
                                                         launch.shared_bytes)) *
                static_cast<std::uint64_t>(sm_count);
  if (launch.grid.count() > resident)
    throw Refusal(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                  "the blocks of the cooperative grid are not resident at once");
}

void check_fits(const KernelLaunch& launch) {
  const FunctionObject& function = *launch.function;
  const Gpu& gpu = *function.context->gpu;
  if (launch.cluster.count() > 1 && gpu.active_clusters(request_of(launch)) == 0)
    throw Refusal(CUDA_ERROR_INVALID_CLUSTER_SIZE, "no cluster fits on the device");
  if (gpu.blocks_per_sm(*function.program, function.entry, static_cast<int>(launch.block.count()),
                        launch.shared_bytes) == 0)
    throw Refusal(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "no block fits on an SM");
}

KernelLaunch checked_launch(const std::shared_ptr<FunctionObject>& function,
                            const CUlaunchConfig& config, void** parameters, void** extra,
                            bool starts_early) {
  KernelLaunch launch{.function = function,
                      .grid = {config.gridDimX, config.gridDimY, config.gridDimZ},
                      .block = {config.blockDimX, config.blockDimY, config.blockDimZ},
                      .shared_bytes = config.sharedMemBytes};
  check_sizes(*function, launch.grid, launch.block, launch.shared_bytes);
  require(config.numAttrs == 0 || config.attrs, "attrs is null");
  for (unsigned i = 0; i < config.numAttrs; ++i)
    set_attribute(launch, config.attrs[i].id, config.attrs[i].value);
  if (starts_early && may_wait_itself(launch)) launch.is_programmatic = true;
  set_default_cluster(launch);
  check_combination(launch);
  check_fits(launch);
  launch.parameters = parameters_of(function->info, parameters, extra);
  return launch;
}

KernelLaunch checked_launch(const std::shared_ptr<FunctionObject>& function,
                            const CUDA_KERNEL_NODE_PARAMS& parameters,
                            const KernelLaunch* attributes) {
  KernelLaunch launch;
  if (attributes) launch = *attributes;
  launch.function = function;
  launch.grid = {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ};
  launch.block = {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ};
  launch.shared_bytes = parameters.sharedMemBytes;
  check_sizes(*function, launch.grid, launch.block, launch.shared_bytes);
  set_default_cluster(launch);
  check_combination(launch);
  check_fits(launch);
  launch.parameters = parameters_of(function->info, parameters.kernelParams, parameters.extra);
  return launch;
}

LaunchRequest request_of(const KernelLaunch& launch) {
  return {.program = launch.function->program,
          .entry = launch.function->entry,
          .grid = launch.grid,
          .block = launch.block,
          .cluster = launch.cluster,
          .dynamic_shared_bytes = launch.shared_bytes,
          .parameters = launch.parameters,
          .is_cooperative = launch.is_cooperative,
          .is_ordered = nullptr};
}

std::shared_ptr<FunctionObject> find_function(const Call& call, CUfunction handle) {
  const auto function =
      call.machine.handles.find<FunctionObject>(handle, CUDA_ERROR_INVALID_HANDLE);
  if (function->context != call.context)
    throw Refusal(CUDA_ERROR_INVALID_HANDLE, "the function belongs to another context");
  return function;
}

}  // namespace sinter::virtual_gpu::driver
