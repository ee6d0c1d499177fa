// Scheduler: chooses which warps run next.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "tests/virtual_gpu/execution/machine.h"

namespace sinter::virtual_gpu {

class Scheduler {
 public:
  explicit Scheduler(const GpuOptions& options) : options_(options), random_(options.seed) {}

  /// The order in which the clusters of a launch start.
  std::vector<std::uint32_t> cluster_order(std::uint32_t count);
  /// Runs ready warps of the launches for a while. False if no warp is ready.
  bool run(const std::vector<std::unique_ptr<ActiveLaunch>>& launches);

 private:
  bool run_fair(const std::vector<Warp*>& ready);
  bool run_random(const std::vector<Warp*>& ready);
  bool run_adversarial(const std::vector<Warp*>& ready);
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  const GpuOptions& options_;
  std::mt19937_64 random_;
};

/// The warps of the launches that can run, in the order of launches, blocks and warps.
std::vector<Warp*> ready_warps(const std::vector<std::unique_ptr<ActiveLaunch>>& launches);

/// Throws a Violation that says what each thread waits for, if no thread can continue.
void check_deadlock(const std::vector<std::unique_ptr<ActiveLaunch>>& launches);

}  // namespace sinter::virtual_gpu
