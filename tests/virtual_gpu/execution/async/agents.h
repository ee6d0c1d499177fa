// Agents: threads of the happens-before relation that make the accesses of asynchronous copies.
#pragma once

#include <span>

#include "tests/virtual_gpu/execution/async/async_state.h"
#include "tests/virtual_gpu/execution/resolve_address.h"

namespace sinter::virtual_gpu {

/// PTX ISA manual, section 8.9.1.1: an asynchronous operation is ordered after prior instructions
/// of its thread. It is not in the program order of the thread. So an agent acquires the knowledge
/// of the thread when it starts. A thread that waits for the copy acquires that of the agent. An
/// agent that is free knows nothing that is not ordered before its thread. All functions need the
/// race check.
ThreadClock& start_agent(Block& block, std::uint32_t thread);
/// A second agent behind another one, for the second part of the same copy.
ThreadClock& start_agent_behind(Block& block, std::uint32_t thread, ThreadClock& before);
/// Must follow the accesses of the agent. The stamp is that of the accesses.
AccessStamp end_agent(Block& block, ThreadClock& agent, std::int32_t line);
/// The thread has waited for the accesses of an agent.
void acquire_agent(ActiveLaunch& launch, ThreadClock& thread, ThreadClock& agent,
                   const AccessStamp& access);

/// Checks an access of a copy and records it. Without the race check, `agent` is null.
void check_copied(const Warp& warp, const Operation& operation, int lane, const Place& place,
                  std::uint64_t bytes, AccessKind kind, ThreadClock* agent);
/// Adds one request of copies to the counts of the launch; each access has `bytes` bytes.
void count_copied(ActiveLaunch& launch, std::span<const Place> places, std::uint64_t bytes,
                  AccessKind kind);

}  // namespace sinter::virtual_gpu
