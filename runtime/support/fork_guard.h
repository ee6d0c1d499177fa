// Detects forked processes. GPU contexts and threads do not survive a fork.
#pragma once

#include <atomic>

namespace sinter {

namespace fork_guard {
inline std::atomic<bool> is_forked = false;
}

/// Call this when a device is opened. From then on, is_forked() detects forked processes.
void guard_forks();

/// True in a process that was forked after a device had been opened.
inline bool is_forked() { return fork_guard::is_forked.load(std::memory_order_relaxed); }

/// The error message for such a process.
inline constexpr const char* kForkedError =
    "this process was forked after a device had been opened, and neither GPUs nor threads survive "
    "a fork; open devices only in the child, or start a new program (exec)";

}  // namespace sinter
