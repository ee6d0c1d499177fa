// The running state of a device: warps, blocks, clusters and launches.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/virtual_gpu/counting/byte_set.h"
#include "tests/virtual_gpu/execution/gpu.h"
#include "tests/virtual_gpu/program/program.h"

namespace sinter::virtual_gpu {

struct Block;
struct Cluster;
struct ActiveLaunch;
struct AsyncBlock;   // execution/async
struct AsyncLaunch;  // execution/async

/// The reason why a warp does not run.
enum class WarpState : std::uint8_t { ready, at_barrier, at_cluster_barrier, at_grid_wait, done };

/// Lanes that diverged from the running ones.
struct Fragment {
  std::int32_t position = 0;
  Mask lanes = 0;
};

/// 32 threads. Lanes with the lowest position run; they meet lanes that wait at a higher one.
struct Warp : LaneState {
  Block* block = nullptr;
  int index = 0;                     ///< in the block
  Mask live = 0;                     ///< threads that have not exited
  Mask active = 0;                   ///< the lanes that run
  std::int32_t position = 0;         ///< of the next operation
  std::int32_t meeting = INT32_MAX;  ///< the lowest position of a waiting fragment
  std::vector<Fragment> waiting = {};
  std::vector<Fragment> parked = {};  ///< they poll an mbarrier, and let the others run first
  WarpState state = WarpState::ready;
  bool yields = false;  ///< an operation asks the scheduler to run other warps
  const Operation* blocked_at = nullptr;
  std::uint32_t barrier = 0;        ///< the number of the barrier that it waits at
  bool has_arrived = false;         ///< at the cluster barrier
  bool owes_wait = false;           ///< it has arrived at a cluster barrier and not yet waited
  bool has_met_cluster = false;     ///< it has waited: all blocks of the cluster have started
  std::uint64_t awaited_phase = 0;  ///< of the cluster barrier
  /// Strong loads in a row by the same operation that returned the same value.
  int spins = 0;
  const Operation* spun_at = nullptr;
  std::uint64_t spun_value = 0;
  std::uint64_t spun_writes = 0;        ///< of the GPU, when the spin began
  std::vector<std::byte> storage = {};  ///< of `registers`
};

struct Barrier {
  int arrived = 0;            ///< warps
  std::uint32_t awaited = 0;  ///< threads that the instructions name; 0: all of the block
  const Operation* operation = nullptr;
  std::uint32_t count = 0;  ///< of true predicates, for reductions
  std::uint32_t threads = 0;
  std::vector<int> warps = {};    ///< that have arrived
  std::uint64_t release_key = 0;  ///< of arrivals that do not wait; 0: there are none
};

struct Block {
  ActiveLaunch* launch = nullptr;
  Cluster* cluster = nullptr;
  std::uint32_t index = 0;  ///< linear, in the grid
  std::uint32_t rank = 0;   ///< in the cluster
  Index3 position = {0, 0, 0};
  std::vector<std::byte> shared = {};
  Shadow shared_shadow;
  std::vector<std::byte> local = {};         ///< of all threads
  std::vector<bool> local_initialized = {};  ///< of its bytes
  std::unique_ptr<BlockClock> clock = {};
  std::vector<Warp> warps = {};
  int live_warps = 0;
  std::array<Barrier, 16> barriers = {};
  bool lets_dependents_start = false;
  std::shared_ptr<AsyncBlock> async = {};  ///< copies and mbarriers, if the kernel has any
};

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks = {};
  std::uint64_t first_phase = 0;  ///< phases of different clusters differ
  std::uint64_t phase = 0;
  int live_blocks = 0;
};

struct ActiveLaunch {
  std::uint32_t serial = 0;
  LaunchRequest request;
  const Kernel* kernel = nullptr;
  int threads = 0;  ///< of a block
  int warps = 0;    ///< of a block
  std::int64_t shared_bytes = 0;
  int capacity = 0;  ///< blocks that are resident at once
  int sm_count = 1;
  std::uint32_t clusters = 0, next_cluster = 0;
  std::vector<std::uint32_t> cluster_order = {};  ///< the order in which clusters start
  std::vector<std::unique_ptr<Cluster>> resident = {};
  std::uint32_t done_clusters = 0;
  std::uint64_t triggered_blocks = 0;              ///< that let dependents start, or ended
  std::vector<Allocation*> last_allocations = {};  ///< by operation
  std::vector<std::uint64_t> executed = {};        ///< threads, by operation
  LaunchCounts counts = {};
  ByteSet loaded = {}, stored = {};  ///< in global memory
  std::uint64_t instructions = 0;  ///< of warps
  GlobalMemory* memory = nullptr;
  HappensBefore* order = nullptr;
  std::uint64_t* writes = nullptr;  ///< stores and atomics of all launches on the GPU
  const GpuOptions* options = nullptr;
  std::uint64_t order_keys = 0;             ///< given by new_order_key()
  std::shared_ptr<AsyncLaunch> async = {};  ///< if the kernel has asynchronous instructions
};

inline Warp& warp_of(LaneState& state) { return static_cast<Warp&>(state); }
inline const Details& details_of(const Operation& operation) {
  return *static_cast<const Details*>(operation.details);
}

/// Runs the warp until it waits, yields, ends, or has executed `budget` operations.
void run_warp(Warp& warp, int budget);
/// Ends lanes of the warp, at an operation.
void exit_lanes(Warp& warp, const Operation& operation, Mask lanes);
/// Moves lanes to other positions; `warp.active` are those that continue at `warp.position`.
void add_fragment(Warp& warp, std::int32_t position, Mask lanes);
/// Lets the fragment with the lowest position run.
void switch_fragment(Warp& warp);
/// The block of `warp` has ended, at `operation`. Throws a Violation if other blocks of its cluster
/// accessed its shared memory, and no barrier orders that before its end.
void check_end_of_block(const Warp& warp, const Operation& operation);
/// Completes barriers of the block and its cluster at which all live warps have arrived.
void complete_barriers(Block& block);

/// A number that is no address of memory, and unique among all launches: an address of releases and
/// acquires for HappensBefore.
inline std::uint64_t new_order_key(ActiveLaunch& launch) {
  return std::uint64_t{1} << 60 | (std::uint64_t{launch.serial & 0xffffff} << 32) |
         ++launch.order_keys;
}

/// Throws a Violation that names the kernel, the thread, and the line of PTX.
[[noreturn]] void fail(const Warp& warp, const Operation& operation, int lane, CheckKind kind,
                       const std::string& problem);
/// The linear index of a lane's thread in its block.
inline std::uint32_t read_word(const Warp& warp, Slot slot, int lane) {
  std::uint32_t value;
  std::memcpy(&value, warp.source(slot) + lane * 4, sizeof value);
  return value;
}
inline std::uint32_t thread_of(const Warp& warp, int lane) {
  return static_cast<std::uint32_t>(warp.index * kLanes + lane);
}
inline ThreadClock& clock_of(const Warp& warp, int lane) {
  return warp.block->launch->order->thread(*warp.block->clock,
                                           static_cast<int>(thread_of(warp, lane)));
}

}  // namespace sinter::virtual_gpu
