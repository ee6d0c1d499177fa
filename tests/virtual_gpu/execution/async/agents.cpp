#include "tests/virtual_gpu/execution/async/agents.h"

#include <set>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/async/agent_text.h"

namespace sinter::virtual_gpu {

namespace {

std::uint32_t grid_blocks(const ActiveLaunch& launch) {
  return static_cast<std::uint32_t>(launch.request.grid.count());
}

/// Makes the agents of one more depth.
void add_agents(Block& block) {
  ActiveLaunch& launch = *block.launch;
  AsyncBlock& async = *block.async;
  const auto depth = static_cast<std::uint32_t>(async.agents.size());
  async.agents.push_back(launch.order->begin_block(
      launch.serial, block.index + (depth + 1) * grid_blocks(launch), launch.threads));
  async.last_accesses.emplace_back(static_cast<std::size_t>(launch.threads));
}

/// An agent of the thread whose accesses are ordered before the next access of the thread.
ThreadClock& free_agent(Block& block, std::uint32_t thread, const ThreadClock* except) {
  ActiveLaunch& launch = *block.launch;
  AsyncBlock& async = *block.async;
  const ThreadClock& own = launch.order->thread(*block.clock, static_cast<int>(thread));
  for (std::size_t depth = 0;; ++depth) {
    if (depth == async.agents.size()) add_agents(block);
    ThreadClock& agent = launch.order->thread(*async.agents[depth], static_cast<int>(thread));
    const AccessStamp& last = async.last_accesses[depth][thread];
    if (&agent != except && (last.segment == 0 || launch.order->is_before(last, own))) return agent;
  }
}

/// All that `from` knows becomes known to `to`. A plain release replaces the one before it, so one
/// key serves all.
void hand_over(ActiveLaunch& launch, ThreadClock& from, ThreadClock& to) {
  AsyncLaunch& async = *launch.async;
  if (async.hand_over_key == 0) async.hand_over_key = new_order_key(launch);
  launch.order->strong_write(from, async.hand_over_key, /*is_atomic=*/false, /*is_release=*/true);
  launch.order->strong_read(to, async.hand_over_key, /*is_acquire=*/true);
}

/// The address as the kernel sees it.
std::uint64_t seen_address(const Place& place, std::uint64_t offset) {
  return place.is_shared ? kFirstAddress + offset : place.address + (offset - place.offset);
}

[[noreturn]] void fail_copy_race(const Warp& warp, const Operation& operation, int lane,
                                 const Place& place, AccessKind kind, const Conflict& conflict) {
  const ActiveLaunch& launch = *warp.block->launch;
  const HappensBefore& order = *launch.order;
  const ThreadPosition other = order.position_of(conflict.earlier);
  const bool is_same = other.launch == launch.serial && conflict.earlier.line > 0;
  const std::string text =
      is_same ? fmt::format(" ({})", line_of(launch.request.program->module, conflict.earlier.line))
              : std::string();
  fail(warp, operation, lane, CheckKind::race,
       fmt::format("race: the asynchronous {} of {} address {:#x} is not ordered after the {} of "
                   "{}, {}, line {}{}",
                   kind == AccessKind::write ? "write" : "read",
                   place.is_shared ? "shared" : "global", seen_address(place, conflict.offset),
                   conflict.earlier_is_write ? "write" : "read", order.name_of(other.launch),
                   text_of_thread(launch, other), conflict.earlier.line, text));
}

}  // namespace

std::string text_of_thread(const ActiveLaunch& launch, const ThreadPosition& position) {
  const std::uint32_t blocks = grid_blocks(launch);
  const bool is_agent = position.launch == launch.serial && position.block >= blocks;
  return fmt::format("{}block {}, thread {}", is_agent ? "an asynchronous copy of " : "",
                     is_agent ? position.block % blocks : position.block, position.thread);
}

ThreadClock& start_agent(Block& block, std::uint32_t thread) {
  ActiveLaunch& launch = *block.launch;
  ThreadClock& agent = free_agent(block, thread, nullptr);
  hand_over(launch, launch.order->thread(*block.clock, static_cast<int>(thread)), agent);
  return agent;
}

ThreadClock& start_agent_behind(Block& block, std::uint32_t thread, ThreadClock& before) {
  ThreadClock& agent = free_agent(block, thread, &before);
  hand_over(*block.launch, before, agent);
  return agent;
}

AccessStamp end_agent(Block& block, ThreadClock& agent, std::int32_t line) {
  AsyncBlock& async = *block.async;
  const AccessStamp stamp = block.launch->order->stamp(agent, line);
  for (std::size_t depth = 0; depth < async.agents.size(); ++depth)
    if (async.agents[depth].get() == agent.block) async.last_accesses[depth][agent.thread] = stamp;
  return stamp;
}

void acquire_agent(ActiveLaunch& launch, ThreadClock& thread, ThreadClock& agent,
                   const AccessStamp& access) {
  // A copy that the thread knows of may have an agent that has begun another one.
  if (launch.order->is_before(access, thread)) return;
  hand_over(launch, agent, thread);
}

void check_copied(const Warp& warp, const Operation& operation, int lane, const Place& place,
                  std::uint64_t bytes, AccessKind kind, ThreadClock* agent) {
  if (bytes == 0) return;
  const ActiveLaunch& launch = *warp.block->launch;
  if (kind == AccessKind::read && launch.options->checks_initialization)
    if (const auto at = place.shadow->first_uninitialized(place.offset, bytes))
      fail(warp, operation, lane, CheckKind::initialization,
           fmt::format("nothing wrote the byte at {} address {:#x}, of {} bytes at {:#x}",
                       place.is_shared ? "shared" : "global", seen_address(place, *at), bytes,
                       seen_address(place, place.offset)));
  if (agent) {
    const Access access{
        .kind = kind, .offset = place.offset, .bytes = bytes, .line = operation.line};
    if (const auto conflict = place.shadow->access(access, *agent, *launch.order))
      fail_copy_race(warp, operation, lane, place, kind, *conflict);
  } else if (kind == AccessKind::write) {
    place.shadow->mark_initialized(place.offset, bytes);
  }
}

void count_copied(ActiveLaunch& launch, std::span<const Place> places, std::uint64_t bytes,
                  AccessKind kind) {
  if (places.empty() || bytes == 0) return;
  LaunchCounts& counts = launch.counts;
  const bool is_shared = places[0].is_shared;
  const bool is_write = kind == AccessKind::write;
  MemoryCounts& memory = is_shared ? (is_write ? counts.shared_stores : counts.shared_loads)
                                   : (is_write ? counts.global_stores : counts.global_loads);
  // Sectors of 32 bytes, or wavefronts of 128 bytes.
  const std::uint64_t unit = is_shared ? 128 : 32;
  std::set<std::uint64_t> units;
  for (const Place& place : places) {
    const std::uint64_t begin = is_shared ? place.offset : place.address;
    for (std::uint64_t i = begin / unit; i * unit < begin + bytes; ++i) units.insert(i);
  }
  ++memory.requests;
  memory.bytes += bytes * places.size();
  memory.transactions += units.size();
}

}  // namespace sinter::virtual_gpu
