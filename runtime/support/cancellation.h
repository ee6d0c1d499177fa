// Work that nobody waits for ends at its next step when there is no more reason to go on.
#pragma once

#include <functional>
#include <stdexcept>
#include <stop_token>

namespace sinter {

/// Thrown from between two steps of work that is given up.
struct Cancelled : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// When to give up. Steps are: planning, one run of a compiler, one candidate that is looked at,
/// one measurement. What somebody waits for is never given up, and has none of these.
struct Cancellation {
  std::stop_token process_ends = {};
  std::function<bool()> is_unwanted = {};  ///< true once nobody is left to run what is made

  /// Throws Cancelled if it is time to.
  void check() const {
    if (process_ends.stop_requested()) throw Cancelled("the process ends");
    if (is_unwanted && is_unwanted()) throw Cancelled("nobody is left to run it");
  }
};

}  // namespace sinter
