// The host device: the driver table in software, with seeds, counters and faults for tests.
// docs/internals/host_device.md describes its behaviour.
#pragma once

#include "runtime/driver/driver.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::host {

struct Options {
  /// Picks the order of work among those that the API allows.
  std::uint64_t seed = 0;
  /// The number of OS threads that run blocks, and of multiprocessors of the device. 0 means one
  /// per hardware thread, at most 16.
  int workers = 0;
  /// Device memory; 0 means three quarters of the machine's.
  std::uint64_t memory_bytes = 0;
};

/// A kernel launch that has run.
struct Launch {
  std::string kernel;
  unsigned grid[3];
  unsigned block[3];
  unsigned cluster = 1;  // blocks per cluster
  unsigned shared_bytes = 0;
  /// Distinct bytes per source line, summed over the lines; 0 unless the kernel was built to count.
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

struct Counters {
  std::uint64_t kernels = 0;  // executed, including those of graphs
  std::uint64_t graph_launches = 0;
  std::uint64_t copies = 0;  // executed, including those of graphs
  std::uint64_t copied_bytes = 0;
  std::uint64_t memsets = 0;
  /// Calls that made the caller wait: synchronisations, and copies to pageable memory.
  std::uint64_t synchronizations = 0;
  std::uint64_t bytes_read = 0;  // of all launches
  std::uint64_t bytes_written = 0;
  std::uint64_t live_bytes = 0;  // device memory in use now
  std::uint64_t peak_bytes = 0;
  std::uint64_t live_allocations = 0;  // device and pinned
  /// The most recent launches in the order of execution, at most kMaxLaunches.
  std::vector<Launch> launches;

  static constexpr std::size_t kMaxLaunches = 4096;
};

/// The driver table of the host device. Never destroyed.
const Driver& host_driver();

/// Sets the options, with immediate effect. Call it only if no work is queued.
void configure(const Options& options);
Options options();

/// A copy of the counters since the start or the last reset_counters().
Counters counters();
/// Zeroes all counters except those of memory in use.
void reset_counters();
/// The number of calls of `call` ("cuLaunchKernelEx") since the last reset_counters().
std::uint64_t calls(std::string_view call);

/// Makes the `nth` call of `call` from now on (1 is the next one) only return `result`. Throws
/// InternalError if the table has no such call.
void inject_fault(std::string_view call, int nth, CUresult result);
void clear_faults();

/// A text about the last failure of this thread; empty if there was none. check() appends it.
std::string last_error();
/// Clears the last failure, including one after which the device refuses work.
void clear_error();

}  // namespace sinter::host
