// Runs one kernel launch on the OS threads of the host device.
#pragma once

#include "codegen/device/host_api.h"
#include "runtime/driver/host/execution/rendezvous.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sinter::host {

/// The number of blocks of a grid, or of threads of a block.
inline std::uint64_t volume(const device_abi::Index3& extents) {
  return std::uint64_t{extents.x} * extents.y * extents.z;
}

/// A launch with its own copies of the parameters.
struct KernelLaunch {
  const device_abi::KernelInfo* kernel = nullptr;
  std::shared_ptr<const void> module;  // keeps the kernel's code loaded
  device_abi::Index3 grid{}, block{};
  unsigned shared_bytes = 0;
  unsigned cluster = 1;               // neighbouring blocks that run together
  unsigned largest_cluster = 8;       // the limit of its function
  bool is_cooperative = false;        // all blocks run at once and may use the grid barrier
  bool may_start_early = false;       // before earlier work of the stream has ended
  std::vector<std::byte> parameters;  // concatenated, each at a multiple of 16
};

/// Copies the values that `parameters` points to, as a launch must.
std::vector<std::byte> pack_parameters(const device_abi::KernelInfo& kernel, void** parameters);

struct LaunchResult {
  Failure failure;
  std::uint64_t bytes_read = 0, bytes_written = 0;  // if the kernel counts
};

/// The failure of a cooperative launch with more blocks than workers(); else no failure.
Failure cooperative_launch_failure(const KernelLaunch& launch);

/// Runs all blocks and waits for them. Bits of `order` decide whether blocks and threads run in
/// reverse. One launch of each pool of OS threads runs at a time; others wait. `prior`: launches
/// that have not run, which the kernel waits for itself; or null.
LaunchResult execute(const KernelLaunch& launch, std::uint64_t order,
                     PriorLaunches* prior = nullptr);

/// Launches of the calling OS thread use a pool of their own, so that they can run while another
/// launch waits for them.
void use_second_pool();

/// Sets how many OS threads run blocks; 0 means one per hardware thread, at most 16.
void set_workers(int count);
/// The number of OS threads that run blocks. Each runs one block, or one cluster, at a time.
int workers();

}  // namespace sinter::host
