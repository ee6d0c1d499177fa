// Neither a GPU's context nor our threads come along when a process is forked.
#pragma once

#include <atomic>

namespace sinter {

namespace fork_guard {
inline std::atomic<bool> is_forked = false;
}

/// To be called when a device is opened: a process that is forked from then on is told apart.
void guard_forks();

/// True in a process that was forked after a device had been opened.
inline bool is_forked() { return fork_guard::is_forked.load(std::memory_order_relaxed); }

/// What such a process is told.
inline constexpr const char* kForked =
    "this process was forked after a device had been opened, and neither GPUs nor threads come "
    "along; open devices in the child alone, or start it anew (exec)";

}  // namespace sinter
