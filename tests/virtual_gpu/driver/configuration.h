// Configuration: the devices and the behaviour of the virtual driver, from the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/virtual_gpu/execution/gpu.h"
#include "tests/virtual_gpu/mutation/mutation.h"

namespace sinter::virtual_gpu::driver {

struct DeviceDescription {
  int capability = 90;
  int sm_count = 0;                ///< 0: that of the real GPU
  std::uint64_t memory_bytes = 0;  ///< 0: that of the real GPU
  /// 0: that of the real GPU. A small cache makes tuning fast, which flushes it before each
  /// measurement.
  int l2_bytes = 0;
  /// The device reads pageable memory of the host itself, as with coherent page tables. A copy from
  /// it may then read the host's bytes after the call has returned.
  bool is_coherent = false;
  /// The driver reports no support of clusters, although the architecture has them.
  bool lacks_clusters = false;
  bool operator==(const DeviceDescription&) const = default;
};

/// A call that fails without any effect, or work that fails while the device executes it.
struct Fault {
  std::string function;  ///< without a version suffix: `cuMemAlloc`; `kernel` or `copy`: work
  int call = 1;          ///< counted from 1
  int code = 2;
  bool operator==(const Fault&) const = default;
};

struct Configuration {
  std::vector<DeviceDescription> devices;
  int driver_version = 13000;
  Schedule schedule = Schedule::fair;
  std::uint64_t seed = 0;
  bool approximations_have_errors = false;
  std::string counts_file;  ///< of LaunchCounts, one line of JSON per launch; empty: none
  std::vector<Fault> faults;
  /// The driver also loads PTX of newer versions, as if an older compiler had made it.
  bool accepts_newer_ptx = false;
  /// Each launch of a kernel with `griddepcontrol.wait` may start before its predecessors have
  /// ended. They are the kernel before it in the stream, or those before it in a CUDA Graph.
  bool starts_early = false;
  /// Work runs only when a thread of the host waits for it, or queries it again. So the answers to
  /// queries, and the calls that follow from them, do not depend on time.
  bool runs_on_demand = false;
  std::optional<MutationName> removed;  ///< from each module that has the kernel
  std::string examinations_file;        ///< of Examinations; empty: none
  bool logs = false;                    ///< prints the reason of each refused call
  std::string problem;                  ///< of the variables; empty: none
};

/// Reads these variables; `get` returns null for one that is not set:
/// - VIRTUAL_GPUS: `sm_90 sms=4, sm_75 sms=2`; also `memory=BYTES[k|m|g]`, `l2=BYTES[k|m|g]`
///   `coherent` and `no_clusters`;
///   empty: no device; by default one `sm_90 sms=4`;
/// - VIRTUAL_GPU_DRIVER: the driver's version, `12040`;
/// - VIRTUAL_GPU_SCHEDULE: `fair`, `random` or `adversarial`; VIRTUAL_GPU_SEED: a number;
/// - VIRTUAL_GPU_APPROXIMATIONS: `exact` or `seeded`;
/// - VIRTUAL_GPU_PTX: `any`: PTX of every version, also for older drivers;
/// - VIRTUAL_GPU_EARLY_STARTS and VIRTUAL_GPU_ON_DEMAND: `on` or `off`;
/// - VIRTUAL_GPU_REMOVE: `KERNEL:3`, see MutationName; VIRTUAL_GPU_EXAMINE: a file;
/// - VIRTUAL_GPU_COUNTS: a file; VIRTUAL_GPU_FAULT: `cuMemAlloc:2:2, …`; VIRTUAL_GPU_LOG: `1`.
Configuration read_configuration(const std::function<const char*(const char*)>& get);

}  // namespace sinter::virtual_gpu::driver
