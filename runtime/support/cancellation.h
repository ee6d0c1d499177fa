// Cancellation: lets background work stop between two steps when its result is no longer needed.
#pragma once

#include <functional>
#include <stdexcept>
#include <stop_token>

namespace sinter {

/// Thrown between two steps of cancelled work.
struct Cancelled : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The conditions for cancelling. Steps are: planning, one run of a compiler, the check of one
/// candidate, one measurement. Work that a caller waits for is never cancelled: both fields are
/// empty.
struct Cancellation {
  std::stop_token stop_token = {};          ///< of the process
  std::function<bool()> is_abandoned = {};  ///< true once no handle of the Executable is left

  /// Throws Cancelled if one of the conditions holds.
  void check() const {
    if (stop_token.stop_requested()) throw Cancelled("the process ends");
    if (is_abandoned && is_abandoned()) throw Cancelled("no handle of the Executable is left");
  }
};

}  // namespace sinter
