// The host device: the Driver table in software, and what only a software device can do for tests
// (seeds, counters, faults). See runtime/README.md for what it promises.
#pragma once

#include "runtime/driver/driver.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::host {

struct Options {
  /// Decides which of the orders that the API allows work runs in.
  std::uint64_t seed = 0;
  /// OS threads that run blocks, one at a time each; the device has as many multiprocessors. 0
  /// means one per hardware thread, at most 16.
  int workers = 0;
  /// Device memory; 0 means three quarters of the machine's.
  std::uint64_t memory_bytes = 0;
};

/// What one kernel launch did, in the order of execution.
struct Launch {
  std::string kernel;
  unsigned grid[3];
  unsigned block[3];
  unsigned cluster = 1;  // neighbouring blocks that ran together
  unsigned shared_bytes = 0;
  /// Distinct bytes, summed over the kernel's load and store sites; 0 unless the kernel was built
  /// to count.
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

struct Counters {
  std::uint64_t kernels = 0;  // executed, also those of graphs
  std::uint64_t graph_launches = 0;
  std::uint64_t copies = 0;  // executed, also those of graphs
  std::uint64_t copied_bytes = 0;
  std::uint64_t memsets = 0;
  /// Calls that made the caller wait: synchronise, and copies to pageable memory.
  std::uint64_t synchronizations = 0;
  std::uint64_t bytes_read = 0;  // of all launches
  std::uint64_t bytes_written = 0;
  std::uint64_t live_bytes = 0;  // device memory in use now
  std::uint64_t peak_bytes = 0;
  std::uint64_t live_allocations = 0;  // device and pinned
  /// The most recent launches, at most kMaxLaunches of them.
  std::vector<Launch> launches;

  static constexpr std::size_t kMaxLaunches = 4096;
};

/// The table of the host device; one per process, never destroyed.
const Driver& host_driver();

/// Sets the options; takes effect at once. Call it while no work is queued.
void configure(const Options& options);
Options options();

/// A copy of the counters since the start or the last reset_counters().
Counters counters();
/// Zeroes the counters, all but those of memory in use.
void reset_counters();
/// How often `call` ("cuLaunchKernelEx") was called since the last reset_counters().
std::uint64_t calls(std::string_view call);

/// Makes the `nth` call of `call` from now on (1 is the next) return `result` and do nothing else.
/// Throws InternalError if the table has no such call.
void inject_fault(std::string_view call, int nth, CUresult result);
void clear_faults();

/// More about the last failure, in words; empty if there was none. Also what check() appends.
std::string last_error();
/// Forgets the last failure, also one after which the device refuses work.
void clear_error();

}  // namespace sinter::host
