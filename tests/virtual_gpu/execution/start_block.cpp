#include "tests/virtual_gpu/execution/start_block.h"

#include <cstring>

#include "tests/virtual_gpu/execution/async/async_state.h"
#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu {

namespace {

Index3 position_in(const Index3& extent, std::uint32_t index) {
  return {index % extent.x, index / extent.x % extent.y, index / extent.x / extent.y};
}

std::uint32_t linear(const Index3& extent, const Index3& position) {
  return position.x + extent.x * (position.y + extent.y * position.z);
}

std::uint32_t axis(const Index3& index, char name) {
  return name == 'x' ? index.x : name == 'y' ? index.y : index.z;
}

/// The value of a special register in one lane. PTX ISA manual, chapter "Special Registers".
std::uint32_t special_value(const Warp& warp, std::string_view name, int lane) {
  const Block& block = *warp.block;
  const LaunchRequest& request = block.launch->request;
  const char last = name.back();
  const Index3 clusters = {request.grid.x / request.cluster.x, request.grid.y / request.cluster.y,
                           request.grid.z / request.cluster.z};
  const Index3 of_cluster = {block.position.x / request.cluster.x,
                             block.position.y / request.cluster.y,
                             block.position.z / request.cluster.z};
  const Index3 in_cluster = {block.position.x % request.cluster.x,
                             block.position.y % request.cluster.y,
                             block.position.z % request.cluster.z};
  if (name.starts_with("%tid."))
    return axis(position_in(request.block, thread_of(warp, lane)), last);
  if (name.starts_with("%ntid.")) return axis(request.block, last);
  if (name.starts_with("%ctaid.")) return axis(block.position, last);
  if (name.starts_with("%nctaid.")) return axis(request.grid, last);
  if (name.starts_with("%clusterid.")) return axis(of_cluster, last);
  if (name.starts_with("%nclusterid.")) return axis(clusters, last);
  if (name.starts_with("%cluster_ctaid.")) return axis(in_cluster, last);
  if (name.starts_with("%cluster_nctaid.")) return axis(request.cluster, last);
  if (name == "%cluster_ctarank") return block.rank;
  if (name == "%cluster_nctarank") return static_cast<std::uint32_t>(request.cluster.count());
  if (name == "%laneid") return static_cast<std::uint32_t>(lane);
  if (name == "%warpid") return static_cast<std::uint32_t>(warp.index);
  if (name == "%nwarpid") return static_cast<std::uint32_t>(block.launch->warps);
  if (name == "%smid") return block.index % static_cast<std::uint32_t>(block.launch->sm_count);
  if (name == "%nsmid") return static_cast<std::uint32_t>(block.launch->sm_count);
  if (name == "%lanemask_eq") return Mask{1} << lane;
  if (name == "%lanemask_lt") return (Mask{1} << lane) - 1;
  if (name == "%lanemask_le") return (Mask{2} << lane) - 1;
  if (name == "%lanemask_ge") return ~((Mask{1} << lane) - 1);
  if (name == "%lanemask_gt") return ~((Mask{2} << lane) - 1);
  if (name == "%dynamic_smem_size") return request.dynamic_shared_bytes;
  if (name == "%total_smem_size") return static_cast<std::uint32_t>(block.launch->shared_bytes);
  throw PtxError(0, "special register " + std::string(name) + " has no value");
}

void start_warp(Block& block, int index) {
  ActiveLaunch& launch = *block.launch;
  Warp& warp = block.warps[static_cast<std::size_t>(index)];
  warp.block = &block;
  warp.index = index;
  const int threads = std::min(kLanes, launch.threads - index * kLanes);
  warp.live = threads == kLanes ? kAllLanes : (Mask{1} << threads) - 1;
  warp.active = warp.live;
  // A pattern that is unlikely to look like a result, in registers that nothing wrote.
  warp.storage.assign(static_cast<std::size_t>(launch.kernel->register_bytes), std::byte{0xa5});
  warp.registers = warp.storage.data();
  warp.constants = launch.kernel->constants.data();
  warp.approximations = &launch.options->approximations;
  for (const SpecialRegister& special : launch.kernel->special_registers)
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t value = special_value(warp, special.name, lane);
      std::memcpy(warp.at(special.slot) + lane * 4, &value, sizeof value);
    }
}

std::unique_ptr<Block> start_block(ActiveLaunch& launch, Cluster& cluster, const Index3& position,
                                   std::uint32_t rank) {
  auto block = std::make_unique<Block>();
  block->launch = &launch;
  block->cluster = &cluster;
  block->position = position;
  block->index = linear(launch.request.grid, position);
  block->rank = rank;
  const auto shared = static_cast<std::size_t>(launch.shared_bytes);
  block->shared.assign(shared, std::byte{0xa5});
  block->shared_shadow = Shadow(shared);
  const auto local = static_cast<std::size_t>(launch.kernel->local_bytes) *
                     static_cast<std::size_t>(launch.threads);
  block->local.assign(local, std::byte{0xa5});
  block->local_initialized.assign(local, false);
  block->clock = launch.order->begin_block(launch.serial, block->index, launch.threads);
  begin_async(*block);
  block->warps = std::vector<Warp>(static_cast<std::size_t>(launch.warps));
  block->live_warps = launch.warps;
  for (int i = 0; i < launch.warps; ++i) start_warp(*block, i);
  return block;
}

}  // namespace

std::unique_ptr<Cluster> start_cluster(ActiveLaunch& launch, std::uint32_t index,
                                       std::uint64_t first_phase) {
  const Index3& grid = launch.request.grid;
  const Index3& size = launch.request.cluster;
  const Index3 at = position_in({grid.x / size.x, grid.y / size.y, grid.z / size.z}, index);
  auto cluster = std::make_unique<Cluster>();
  cluster->first_phase = first_phase;
  for (std::uint32_t rank = 0; rank < size.count(); ++rank) {
    const Index3 in = position_in(size, rank);
    const Index3 position = {at.x * size.x + in.x, at.y * size.y + in.y, at.z * size.z + in.z};
    cluster->blocks.push_back(start_block(launch, *cluster, position, rank));
  }
  cluster->live_blocks = static_cast<int>(cluster->blocks.size());
  return cluster;
}

}  // namespace sinter::virtual_gpu
