// Runs independent jobs on all hardware threads.
#pragma once

#include <functional>
#include <vector>

namespace sinter {

/// Runs every job and waits for all of them, on as many threads as the machine has. The calling
/// thread is one of them. Then rethrows the exception of the first job in the list that threw.
void run_parallel(const std::vector<std::function<void()>>& jobs);

}  // namespace sinter
