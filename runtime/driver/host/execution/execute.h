// Runs one kernel launch on the OS threads of the host device.
#pragma once

#include "codegen/device/host_api.h"
#include "runtime/driver/host/execution/rendezvous.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sinter::host {

/// A launch with its own copies of the parameters.
struct KernelLaunch {
  const device_abi::KernelInfo* kernel = nullptr;
  std::shared_ptr<const void> module;  // keeps the kernel's code loaded
  device_abi::Index3 grid{}, block{};
  unsigned shared_bytes = 0;
  unsigned cluster = 1;               // neighbouring blocks that run together
  unsigned largest_cluster = 8;       // that its function may be launched with
  bool is_cooperative = false;        // all blocks run at once and may meet
  bool may_start_early = false;       // before what is in front of it in the stream has ended
  std::vector<std::byte> parameters;  // one after the other, each at a multiple of 16
};

/// Copies the values that `parameters` points to, as a launch does.
std::vector<std::byte> pack_parameters(const device_abi::KernelInfo& kernel, void** parameters);

struct LaunchResult {
  Failure failure;
  std::uint64_t bytes_read = 0, bytes_written = 0;  // if the kernel counts
};

/// Why the launch cannot run: it is cooperative and has more blocks than workers() run at once.
Failure find_excess(const KernelLaunch& launch);

/// Runs all blocks and waits for them. `order` picks among the orders that blocks and threads may
/// run in. One launch runs at a time; others wait.
LaunchResult execute(const KernelLaunch& launch, std::uint64_t order);

/// Sets how many OS threads run blocks; 0 means one per hardware thread, at most 16.
void set_workers(int count);
/// How many OS threads run blocks, each one block at a time.
int workers();

}  // namespace sinter::host
