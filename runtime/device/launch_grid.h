// The grid and the attributes of a launch. The grid of a cooperative kernel is limited to the
// blocks that are resident at once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "codegen/text/source.h"
#include "runtime/device/device_state.h"

namespace sinter {

/// The number of blocks of a kernel that the device holds at once; 0: not even one fits. `function`
/// is `source`, loaded.
std::int64_t max_resident_blocks(const DeviceState& device, const Source& source,
                                 CUfunction function);
/// The limit for the grid of a cooperative kernel: max_resident_blocks, which must not be 0.
/// Returns 0 (no limit) for other kernels.
std::int64_t cooperative_grid_limit(const DeviceState& device, const Source& source,
                                    CUfunction function);

/// The number of blocks of a launch: at most `limit`, unless that is 0. A result of 0 means that
/// there is nothing to launch.
std::int64_t grid_size(const Source& source, std::int64_t limit,
                       std::span<const std::int64_t> symbols);

/// The reason why the device cannot run all blocks of a cluster of `source` at once; empty if it
/// can. Checks only cluster sizes that not every GPU with clusters supports.
std::string cluster_problem(const DeviceState& device, const Source& source, CUfunction function);
/// True if the cluster size is not portable, so that the function needs an attribute to allow it.
bool has_large_cluster(const Source& source);

/// The attributes of a launch.
struct LaunchAttributes {
  std::array<CUlaunchAttribute, 2> list;
  unsigned count = 0;

  std::span<const CUlaunchAttribute> view() const { return {list.data(), count}; }
};
/// The attributes of a graph node: cooperative launch, and cluster size.
LaunchAttributes node_attributes(const Source& source);
/// The attributes of a stream launch. With `starts_early` it may also begin while the previous
/// kernel still runs (programmatic dependent launch). This removes most of the gap between two
/// kernels. CompiledFunction::starts_early has the decision.
LaunchAttributes stream_attributes(const Source& source, bool starts_early);

/// The configuration of a launch of `grid` blocks, without a stream. It refers to `attributes`.
CUlaunchConfig launch_config(const Source& source, std::int64_t grid, LaunchAttributes& attributes);
/// The parameters of a graph node for the launch. Its attributes are set separately.
CUDA_KERNEL_NODE_PARAMS node_parameters(const CUlaunchConfig& config, CUfunction function,
                                        void** parameters);

/// Adds programmatic edges between kernel nodes of a CUDA Graph: `to[i]` may begin when all blocks
/// of `from[i]` have ended, and waits itself until the memory operations of `from[i]` are visible.
/// Only kernels with CompiledFunction::starts_early do that. The driver must have
/// cuGraphAddDependencies: it is of CUDA 12.3 or later.
CUresult add_early_edges(const Driver& driver, CUgraph graph, std::span<const CUgraphNode> from,
                         std::span<const CUgraphNode> to);

}  // namespace sinter
