// Threads that share the jobs of one product or convolution on the host device.
#pragma once

#include <cstdint>
#include <functional>

namespace sinter {

/// The most threads that take part in run_jobs: those that run kernels of the host device.
int most_workers();

/// Calls job(worker, index) for each index below `count`, and returns after the last call. Up to
/// `workers` threads take part, at most most_workers(). `worker` numbers them from 0, so that each
/// can have memory of its own. Runs everything on the calling thread while other threads are busy.
/// Rethrows the exception of a job that throws; later jobs may then be left out.
void run_jobs(std::int64_t count, int workers,
              const std::function<void(int worker, std::int64_t index)>& job);

}  // namespace sinter
