// The state of asynchronous copies and mbarriers, of a launch, a block and a thread.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/virtual_gpu/execution/async/mbarrier_counts.h"
#include "tests/virtual_gpu/execution/async/proxy_order.h"
#include "tests/virtual_gpu/execution/async/proxy_reads.h"
#include "tests/virtual_gpu/execution/machine.h"

namespace sinter::virtual_gpu {

struct AsyncCopy;

/// An mbarrier object in shared memory.
struct MBarrier {
  Block* block = nullptr;
  std::uint64_t offset = 0;  ///< in the shared memory of the block
  MBarrierCounts counts = {};
  // ---- Rules of use ----
  AccessStamp initialized = {};    ///< the `mbarrier.init`
  bool is_published = false;       ///< by `fence.mbarrier_init`
  std::uint64_t published_at = 0;  ///< the phase of the cluster barrier at that time
  bool is_observed = true;         ///< a wait returned true for the last complete phase
  int pending_operations = 0;      ///< copies and asynchronous arrivals that will signal it
  std::map<std::uint64_t, AccessStamp> users = {};  ///< the last use, by block and thread
  // ---- Order ----
  std::unique_ptr<BlockClock> carrier = {};  ///< knows all that complete phases ordered
  std::uint64_t arrivals_key = 0;            ///< releases of the current phase
  std::uint64_t done_key = 0;                ///< the release of all complete phases
  // ---- Copies ----
  std::vector<std::shared_ptr<AsyncCopy>> signals = {};   ///< that completed in this phase
  std::vector<std::shared_ptr<AsyncCopy>> complete = {};  ///< in earlier ones, not observed
  int failed_polls = 0;                                   ///< in a row
};

/// An arrival at an mbarrier when some copies are complete: `cp.async.mbarrier.arrive`.
struct AsyncArrival {
  MBarrier* barrier = nullptr;
  int copies = 0;  ///< that are not complete
};

/// A copy of one thread, which has been issued and perhaps not performed.
struct AsyncCopy {
  const Operation* operation = nullptr;
  Block* block = nullptr;  ///< of the thread
  std::uint32_t thread = 0;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t copied = 0;          ///< the other bytes become 0
  std::uint16_t byte_mask = 0xffff;  ///< of each 16 bytes
  Block* shared_source = nullptr;    ///< the block of the source, if that is in shared memory
  Block* shared_target = nullptr;    ///< and of the destination
  MBarrier* barrier = nullptr;       ///< that gets a complete-tx
  std::vector<std::shared_ptr<AsyncArrival>> arrivals = {};
  // ---- The agents that make its accesses; null without the race check ----
  ThreadClock* reader = nullptr;
  ThreadClock* writer = nullptr;
  AccessStamp read = {}, written = {};
  bool is_done = false;
  bool is_observed = false;  ///< a thread has waited for it, at least for its reads
};
using CopyList = std::vector<std::shared_ptr<AsyncCopy>>;

struct AsyncThread {
  /// Copies of no group, and groups that have not been waited for. Index 1: bulk copies.
  std::array<CopyList, 2> open = {};
  std::array<std::deque<CopyList>, 2> groups = {};
  CopyList issued = {};  ///< copies that a later `cp.async.mbarrier.arrive` tracks
};

struct AsyncBlock {
  std::vector<AsyncThread> threads = {};
  std::map<std::uint64_t, MBarrier> mbarriers = {};  ///< by offset
  ProxyReads proxy_reads = {};                       ///< by threads of the block itself
  /// Clocks of agents, by depth. A thread has one agent of each depth.
  std::vector<std::unique_ptr<BlockClock>> agents = {};
  std::vector<std::vector<AccessStamp>> last_accesses = {};  ///< of agents
  std::map<int, std::string> waits = {};  ///< of warps that poll for long, as text
};

struct AsyncLaunch {
  explicit AsyncLaunch(std::uint64_t seed) : random(seed) {}
  CopyList pending = {};      ///< not performed
  CopyList bulk_copies = {};  ///< that nothing has waited for
  ProxyOrder proxies = {};
  std::mt19937_64 random;
  std::uint32_t carriers = 0;
  std::uint64_t hand_over_key = 0;
};

/// The state of a thread's copies.
inline AsyncThread& async_thread(const Warp& warp, int lane) {
  return warp.block->async->threads[thread_of(warp, lane)];
}
inline bool checks_races(const ActiveLaunch& launch) { return launch.options->checks_races; }

/// Gives a launch or a block its state, if the kernel has asynchronous instructions.
void begin_async(ActiveLaunch& launch);
void begin_async(Block& block);

}  // namespace sinter::virtual_gpu
