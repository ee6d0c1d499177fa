// PriorLaunches: the launches that a kernel waits for which has started before they have run.
#pragma once

#include "runtime/driver/host/execution/rendezvous.h"

#include <functional>
#include <mutex>

namespace sinter::host {

/// They run when the kernel first waits for them: as late as the API allows.
class PriorLaunches {
 public:
  /// `run` may throw std::bad_alloc, which becomes a failure.
  explicit PriorLaunches(std::function<Failure()> run) : run_(std::move(run)) {}

  /// Returns when the launches have ended; false if they have failed. The first call runs them, on
  /// another OS thread, because the caller is one that runs blocks.
  bool wait() noexcept;
  /// Their failure, when no thread waits any more.
  const Failure& failure() const { return failure_; }

 private:
  std::function<Failure()> run_;
  std::once_flag once_;
  Failure failure_;
};

}  // namespace sinter::host
