#include "runtime/device/launch_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "compiler/target/gpu_constants.h"
#include "ir/shape/extent.h"
#include "sinter/error.h"

namespace sinter {

std::int64_t max_resident_blocks(const DeviceState& device, const Source& source,
                                 CUfunction function) {
  const CurrentContext current(device);
  const Driver& driver = device.driver;
  const CaptureModeGuard relaxed(driver);
  const auto context = [&] { return "the blocks of kernel " + source.entry; };
  int blocks_per_sm = 0;
  check(
      driver,
      driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks_per_sm, function, source.threads, static_cast<std::size_t>(source.shared_bytes)),
      "cuOccupancyMaxActiveBlocksPerMultiprocessor", context);
  int sm_count = 0;
  check(driver,
        driver.cuDeviceGetAttribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                    device.handle),
        "cuDeviceGetAttribute", context);
  return std::int64_t{blocks_per_sm} * sm_count;
}

std::int64_t cooperative_grid_limit(const DeviceState& device, const Source& source,
                                    CUfunction function) {
  if (!source.is_cooperative) return 0;
  const std::int64_t blocks = max_resident_blocks(device, source, function);
  ensure(blocks > 0,
         fmt::format("kernel {}: a block of {} threads and {} bytes of shared memory does not fit "
                     "on {}",
                     source.entry, source.threads, source.shared_bytes, device.name));
  return blocks;
}

std::int64_t grid_size(const Source& source, std::int64_t limit,
                       std::span<const std::int64_t> symbols) {
  const std::int64_t blocks = evaluate(source.grid, symbols);
  return limit > 0 ? std::min(blocks, limit) : blocks;
}

bool has_large_cluster(const Source& source) { return source.cluster > kPortableCluster; }

std::string cluster_problem(const DeviceState& device, const Source& source, CUfunction function) {
  if (!has_large_cluster(source)) return {};
  const Driver& driver = device.driver;
  if (!driver.cuOccupancyMaxActiveClusters)
    return fmt::format("the driver cannot tell if clusters of {} blocks fit", source.cluster);
  const CurrentContext current(device);
  const CaptureModeGuard relaxed(driver);
  LaunchAttributes attributes = node_attributes(source);
  const CUlaunchConfig config = launch_config(source, source.cluster, attributes);
  int clusters = 0;
  const CUresult result = driver.cuOccupancyMaxActiveClusters(&clusters, function, &config);
  // A device without room for such a cluster may also report that the size is invalid.
  if (result != CUDA_ERROR_INVALID_CLUSTER_SIZE)
    check(driver, result, "cuOccupancyMaxActiveClusters",
          [&] { return "the clusters of kernel " + source.entry; });
  if (result == CUDA_SUCCESS && clusters > 0) return {};
  return fmt::format("{} has no room for a cluster of {} blocks of {} threads", device.name,
                     source.cluster, source.threads);
}

namespace {

CUlaunchAttribute& add(LaunchAttributes& attributes, CUlaunchAttributeID id) {
  CUlaunchAttribute& attribute = attributes.list[attributes.count++];
  attribute = {};
  attribute.id = id;
  return attribute;
}

}  // namespace

LaunchAttributes node_attributes(const Source& source) {
  LaunchAttributes attributes;
  ensure(source.cluster == 1 || !source.is_cooperative,
         "kernel " + source.entry + " has clusters and a grid barrier");
  if (source.is_cooperative) add(attributes, CU_LAUNCH_ATTRIBUTE_COOPERATIVE).value.cooperative = 1;
  if (source.cluster > 1)
    add(attributes, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).value.clusterDim = {
        .x = static_cast<unsigned>(source.cluster), .y = 1, .z = 1};
  return attributes;
}

LaunchAttributes stream_attributes(const Source& source, bool starts_early) {
  LaunchAttributes attributes = node_attributes(source);
  if (starts_early)
    add(attributes, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .value.programmaticStreamSerializationAllowed = 1;
  return attributes;
}

CUlaunchConfig launch_config(const Source& source, std::int64_t grid,
                             LaunchAttributes& attributes) {
  return {.gridDimX = static_cast<unsigned>(grid),
          .gridDimY = 1,
          .gridDimZ = 1,
          .blockDimX = static_cast<unsigned>(source.threads),
          .blockDimY = 1,
          .blockDimZ = 1,
          .sharedMemBytes = static_cast<unsigned>(source.shared_bytes),
          .hStream = nullptr,
          .attrs = attributes.list.data(),
          .numAttrs = attributes.count};
}

CUDA_KERNEL_NODE_PARAMS node_parameters(const CUlaunchConfig& config, CUfunction function,
                                        void** parameters) {
  return {.func = function,
          .gridDimX = config.gridDimX,
          .gridDimY = config.gridDimY,
          .gridDimZ = config.gridDimZ,
          .blockDimX = config.blockDimX,
          .blockDimY = config.blockDimY,
          .blockDimZ = config.blockDimZ,
          .sharedMemBytes = config.sharedMemBytes,
          .kernelParams = parameters,
          .extra = nullptr,
          .kern = nullptr,
          .ctx = nullptr};
}

// The port activates when all blocks have triggered or ended. Emitted kernels do not trigger, so no
// block of a later kernel takes resources from one of an earlier kernel. Captured stream launches
// have this port too. The other port activates when all blocks have begun, but "currently this is a
// best effort" (CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT). The documentation warns of deadlocks:
// blocks that wait for other blocks of their launch could then lack resources.
CUresult add_early_edges(const Driver& driver, CUgraph graph, std::span<const CUgraphNode> from,
                         std::span<const CUgraphNode> to) {
  constexpr CUgraphEdgeData kEarly = {.from_port = kGraphKernelNodePortProgrammatic,
                                      .to_port = 0,
                                      .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                                      .reserved = {}};
  const std::vector<CUgraphEdgeData> data(from.size(), kEarly);
  return driver.cuGraphAddDependencies(graph, from.data(), to.data(), data.data(), from.size());
}

}  // namespace sinter
