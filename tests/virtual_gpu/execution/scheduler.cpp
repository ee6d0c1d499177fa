#include "tests/virtual_gpu/execution/scheduler.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/async/complete_copies.h"
#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

namespace {

constexpr int kTurn = 2000;         ///< operations of a warp between turns of others
constexpr int kLongTurn = 100'000;  ///< of a warp that is far ahead of the others
/// A warp whose strong loads returned the same value so often waits for another thread.
constexpr int kSpins = 2000;

/// The state of a barrier with a number of threads.
std::string awaited_text(const Barrier& barrier) {
  if (barrier.awaited == 0) return {};
  return fmt::format(" ({} of {} threads)", barrier.arrived * kLanes, barrier.awaited);
}

std::string describe(const Warp& warp) {
  const Block& block = *warp.block;
  const auto line = [&](const Operation* operation) {
    return fmt::format("line {} ({})", operation->line,
                       line_of(block.launch->request.program->module, operation->line));
  };
  const std::string who = fmt::format("kernel {}, block {}, warp {}", block.launch->kernel->name,
                                      block.index, warp.index);
  switch (warp.state) {
    case WarpState::at_barrier:
      return fmt::format("{} waits at barrier {} of its block{}, {}", who, warp.barrier,
                         awaited_text(block.barriers[warp.barrier]), line(warp.blocked_at));
    case WarpState::at_cluster_barrier:
      return fmt::format("{} waits at the barrier of its cluster, {}", who, line(warp.blocked_at));
    case WarpState::ready:
      if (warp.spun_at->execute == handlers::mbarrier_wait)
        return fmt::format("{} {}, {}", who, block.async->waits.at(warp.index), line(warp.spun_at));
      return fmt::format("{} reads the value {:#x} again and again, {}", who, warp.spun_value,
                         line(warp.spun_at));
    case WarpState::at_grid_wait:
    case WarpState::done: break;
  }
  return who;
}

}  // namespace

std::vector<Warp*> ready_warps(const std::vector<std::unique_ptr<ActiveLaunch>>& launches) {
  std::vector<Warp*> ready;
  for (const auto& launch : launches)
    for (const auto& cluster : launch->resident)
      for (const auto& block : cluster->blocks)
        for (Warp& warp : block->warps)
          if (warp.state == WarpState::ready) ready.push_back(&warp);
  return ready;
}

std::vector<std::uint32_t> Scheduler::cluster_order(std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  if (options_.schedule == Schedule::random) std::ranges::shuffle(order, random_);
  // The last blocks first, or the others late: both happen, by the seed.
  if (options_.schedule == Schedule::adversarial && options_.seed % 2 == 0)
    std::ranges::reverse(order);
  return order;
}

bool Scheduler::run(const std::vector<std::unique_ptr<ActiveLaunch>>& launches) {
  for (const auto& launch : launches) advance_copies(*launch);
  const std::vector<Warp*> ready = ready_warps(launches);
  if (ready.empty()) return false;
  switch (options_.schedule) {
    case Schedule::fair: return run_fair(ready);
    case Schedule::random: return run_random(ready);
    case Schedule::adversarial: return run_adversarial(ready);
  }
  return false;
}

bool Scheduler::run_fair(const std::vector<Warp*>& ready) {
  for (Warp* const warp : ready)
    if (warp->state == WarpState::ready) run_warp(*warp, kTurn);
  return true;
}

bool Scheduler::run_random(const std::vector<Warp*>& ready) {
  for (std::size_t turn = 0; turn < ready.size(); ++turn) {
    Warp& warp = *ready[below(ready.size())];
    if (warp.state == WarpState::ready) run_warp(warp, 1 + static_cast<int>(below(kTurn)));
  }
  return true;
}

/// One warp runs as far as it can, while all others wait.
bool Scheduler::run_adversarial(const std::vector<Warp*>& ready) {
  std::vector<Warp*> order = ready;
  std::ranges::shuffle(order, random_);
  for (Warp* const warp : order) {
    if (warp->state != WarpState::ready) continue;
    run_warp(*warp, kLongTurn);
    if (below(4) != 0) break;  // mostly, the other warps fall further behind
  }
  return true;
}

void check_deadlock(const std::vector<std::unique_ptr<ActiveLaunch>>& launches) {
  std::vector<const Warp*> waiting;
  for (const auto& launch : launches)
    for (const auto& cluster : launch->resident)
      for (const auto& block : cluster->blocks)
        for (const Warp& warp : block->warps) {
          // The scheduler wakes warps that wait for earlier launches, which are among `launches`.
          if (warp.state == WarpState::done || warp.state == WarpState::at_grid_wait) continue;
          // A write may have changed the value that a spinning warp waits for.
          const bool spins = warp.spins >= kSpins && warp.spun_writes == *launch->writes;
          if (warp.state == WarpState::ready && !spins) return;
          waiting.push_back(&warp);
        }
  if (waiting.empty()) return;
  constexpr std::size_t kShown = 8;
  std::string message = fmt::format("deadlock: none of {} warps can continue", waiting.size());
  for (std::size_t i = 0; i < std::min(kShown, waiting.size()); ++i)
    message += "\n  " + describe(*waiting[i]);
  if (waiting.size() > kShown) message += fmt::format("\n  and {} more", waiting.size() - kShown);
  throw Violation(CheckKind::deadlock, message);
}

}  // namespace sinter::virtual_gpu
