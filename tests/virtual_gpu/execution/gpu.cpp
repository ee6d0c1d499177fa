#include "tests/virtual_gpu/execution/gpu.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/async/async_state.h"
#include "tests/virtual_gpu/execution/machine.h"
#include "tests/virtual_gpu/execution/scheduler.h"
#include "tests/virtual_gpu/execution/start_block.h"
#include "tests/virtual_gpu/program/decode.h"

namespace sinter::virtual_gpu {

namespace {

constexpr std::string_view kClassNames[kInstructionClasses] = {"arithmetic", "move", "memory",
                                                               "control", "synchronization"};

std::int64_t shared_bytes_of(const Kernel& kernel, std::int64_t dynamic) {
  return (kernel.static_shared_bytes + 15) / 16 * 16 + dynamic;
}

void count_instructions(ActiveLaunch& launch) {
  for (std::size_t i = 0; i < launch.executed.size(); ++i)
    launch.counts.instructions[std::string(
        kClassNames[static_cast<std::size_t>(launch.kernel->classes[i])])] += launch.executed[i];
}

}  // namespace

struct Gpu::State {
  State(const GpuLimits& gpu_limits, const GpuOptions& gpu_options, GlobalMemory& global,
        HappensBefore& happens_before)
      : limits(gpu_limits),
        options(gpu_options),
        memory(global),
        order(happens_before),
        scheduler(options) {}

  GpuLimits limits;
  GpuOptions options;
  GlobalMemory& memory;
  HappensBefore& order;
  Scheduler scheduler;
  std::vector<std::unique_ptr<ActiveLaunch>> running = {};
  std::map<std::uint32_t, LaunchCounts> finished = {};
  std::uint64_t next_phase = 1;
  std::uint64_t writes = 0;
  std::uint64_t finished_instructions = 0;  ///< of warps, in launches that have ended
  double used = 0;                          ///< the share of the GPU that resident blocks take

  int turns_until_check = 64;  ///< for deadlocks

  bool is_done(std::uint32_t launch) const { return finished.contains(launch); }
  bool is_running(std::uint32_t serial) const {
    return std::ranges::any_of(running, [&](const auto& one) { return one->serial == serial; });
  }
  void place_clusters();
  void wake_waiting();
  void remove_finished();
};

/// Starts clusters while they fit. Launches share the GPU by the share that each block takes.
void Gpu::State::place_clusters() {
  for (const auto& launch : running) {
    const double share = static_cast<double>(launch->request.cluster.count()) / launch->capacity;
    while (launch->next_cluster < launch->clusters &&
           (used + share <= 1.0 + 1e-9 || launch->resident.empty())) {
      const std::uint32_t index = launch->cluster_order[launch->next_cluster++];
      launch->resident.push_back(start_cluster(*launch, index, next_phase));
      next_phase += std::uint64_t{1} << 32;
      used += share;
    }
  }
}

void Gpu::State::wake_waiting() {
  for (const auto& launch : running) {
    const bool are_done = std::ranges::all_of(launch->request.waits_for, [&](std::uint32_t serial) {
      return is_done(serial) || !is_running(serial);
    });
    if (!are_done) continue;
    for (const auto& cluster : launch->resident)
      for (const auto& block : cluster->blocks)
        for (Warp& warp : block->warps)
          if (warp.state == WarpState::at_grid_wait) warp.state = WarpState::ready;
  }
}

/// A cluster ends when all its blocks have ended, since they may use the memory of each other.
void Gpu::State::remove_finished() {
  for (const auto& launch : running) {
    const double share = static_cast<double>(launch->request.cluster.count()) / launch->capacity;
    std::erase_if(launch->resident, [&](const std::unique_ptr<Cluster>& cluster) {
      if (std::ranges::any_of(cluster->blocks, [](const auto& b) { return b->live_warps > 0; }))
        return false;
      for (const auto& block : cluster->blocks)
        if (!block->lets_dependents_start) ++launch->triggered_blocks;
      ++launch->done_clusters;
      used -= share;
      return true;
    });
  }
  std::erase_if(running, [&](const std::unique_ptr<ActiveLaunch>& launch) {
    if (launch->done_clusters < launch->clusters) return false;
    count_instructions(*launch);
    launch->counts.global_loads.unique_bytes = launch->loaded.size();
    launch->counts.global_stores.unique_bytes = launch->stored.size();
    finished_instructions += launch->instructions;
    finished[launch->serial] = std::move(launch->counts);
    return true;
  });
}

Gpu::Gpu(GpuLimits limits, GpuOptions options, GlobalMemory& memory, HappensBefore& order)
    : state_(std::make_unique<State>(limits, options, memory, order)) {}
Gpu::~Gpu() = default;

std::shared_ptr<const Program> Gpu::load(std::string ptx) {
  // Only variables that a kernel names get memory. It is freed with the program.
  auto addresses = std::make_shared<std::map<std::string_view, std::uint64_t>>();
  GlobalMemory& memory = state_->memory;
  const auto address_of = [&](const ptx::Variable& variable) {
    const auto [found, is_new] = addresses->try_emplace(variable.name, 0);
    if (!is_new) return found->second;
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(variable.size(), 1));
    Allocation& allocation =
        memory.allocate(size, /*device=*/0, MemoryKind::module, std::string(variable.name));
    std::memset(allocation.data, 0, size);
    if (!variable.bytes.empty())
      std::memcpy(allocation.data, variable.bytes.data(), variable.bytes.size());
    allocation.shadow.mark_initialized(0, size);
    return found->second = allocation.address;
  };
  std::shared_ptr<const Program> program = decode(ptx::parse(std::move(ptx)), address_of);
  const Program* const decoded = program.get();
  return {decoded, [program, addresses, &memory](const Program*) {
            for (const auto& [name, address] : *addresses) memory.free(*memory.find_begin(address));
          }};
}

int Gpu::blocks_per_sm(const Program& program, int entry, int threads, std::int64_t shared) const {
  const GpuLimits& limits = state_->limits;
  const Kernel& kernel = program.kernels.at(static_cast<std::size_t>(entry));
  const std::int64_t bytes = shared_bytes_of(kernel, shared);
  if (threads <= 0 || bytes > limits.shared_per_block) return 0;
  int blocks = std::min(limits.blocks_per_sm, limits.threads_per_sm / ((threads + 31) / 32 * 32));
  if (bytes > 0) {
    // The system reserves 1 KiB of each block's shared memory from sm_80 on.
    const std::int64_t reserved = limits.compute_capability >= 80 ? 1024 : 0;
    blocks = std::min(blocks, static_cast<int>(limits.shared_per_sm / (bytes + reserved)));
  }
  return std::max(blocks, 0);
}

int Gpu::active_clusters(const LaunchRequest& request) const {
  const GpuLimits& limits = state_->limits;
  const auto size = static_cast<int>(request.cluster.count());
  const int per_sm =
      blocks_per_sm(*request.program, request.entry, static_cast<int>(request.block.count()),
                    request.dynamic_shared_bytes);
  int clusters = 0;
  for (int left = limits.sm_count; left > 0; left -= limits.sms_per_gpc)
    clusters += std::min(left, limits.sms_per_gpc) * per_sm / size;
  return clusters;
}

std::uint32_t Gpu::start(LaunchRequest request) {
  auto launch = std::make_unique<ActiveLaunch>();
  const Kernel& kernel = request.program->kernels.at(static_cast<std::size_t>(request.entry));
  launch->kernel = &kernel;
  launch->threads = static_cast<int>(request.block.count());
  launch->warps = (launch->threads + kLanes - 1) / kLanes;
  launch->shared_bytes = shared_bytes_of(kernel, request.dynamic_shared_bytes);
  const auto cluster = static_cast<int>(request.cluster.count());
  launch->sm_count = state_->limits.sm_count;
  launch->capacity = cluster > 1 ? active_clusters(request) * cluster
                                 : state_->limits.sm_count *
                                       blocks_per_sm(*request.program, request.entry,
                                                     launch->threads, request.dynamic_shared_bytes);
  launch->clusters = static_cast<std::uint32_t>(request.grid.count() / request.cluster.count());
  if (launch->capacity == 0)
    throw Violation(
        CheckKind::synchronization,
        fmt::format("kernel {}: no block of {} threads and {} bytes of shared memory in "
                    "clusters of {} fits on the GPU",
                    kernel.name, launch->threads, launch->shared_bytes, cluster));
  if (request.is_cooperative && request.grid.count() > static_cast<std::uint64_t>(launch->capacity))
    throw Violation(CheckKind::synchronization,
                    fmt::format("kernel {}: the cooperative launch has {} blocks, {} are resident "
                                "at once",
                                kernel.name, request.grid.count(), launch->capacity));
  launch->serial =
      state_->order.begin_launch(request.is_ordered, request.waits_for, "kernel " + kernel.name);
  launch->cluster_order = state_->scheduler.cluster_order(launch->clusters);
  launch->last_allocations.assign(kernel.operations.size(), nullptr);
  launch->executed.assign(kernel.operations.size(), 0);
  launch->counts.kernel = kernel.name;
  launch->counts.blocks = request.grid.count();
  launch->memory = &state_->memory;
  launch->order = &state_->order;
  launch->writes = &state_->writes;
  launch->options = &state_->options;
  begin_async(*launch);
  launch->request = std::move(request);
  const std::uint32_t serial = launch->serial;
  state_->running.push_back(std::move(launch));
  return serial;
}

bool Gpu::lets_dependents_start(std::uint32_t launch) const {
  for (const auto& one : state_->running)
    if (one->serial == launch) return one->triggered_blocks == one->request.grid.count();
  return is_done(launch);
}

bool Gpu::is_done(std::uint32_t launch) const { return state_->is_done(launch); }

std::uint64_t Gpu::executed_instructions() const {
  std::uint64_t sum = state_->finished_instructions;
  for (const auto& launch : state_->running) sum += launch->instructions;
  return sum;
}

bool Gpu::run_some() {
  state_->wake_waiting();
  state_->place_clusters();
  if (state_->running.empty()) return false;
  const bool has_run = state_->scheduler.run(state_->running);
  state_->remove_finished();
  if (!has_run || state_->turns_until_check-- == 0) {
    state_->turns_until_check = 64;
    state_
        ->wake_waiting();  // a warp that has just begun to wait for a finished launch can continue
    check_deadlock(state_->running);
  }
  return true;
}

const LaunchCounts& Gpu::counts(std::uint32_t launch) const { return state_->finished.at(launch); }

}  // namespace sinter::virtual_gpu
