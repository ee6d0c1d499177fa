// The devices and tools that sinter finds on the machine, and how to get missing ones.
#pragma once

#include "sinter/device.h"
#include "sinter/options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::command {

/// A device that programs can run on.
struct DeviceFacts {
  std::string kind;  ///< cuda or host
  int ordinal = 0;
  std::string name;
  std::string arch;  ///< the architecture that kernels are planned for
  int sm_count = 0;  ///< 0 on the host device
  std::int64_t memory_bytes = 0;
};

/// A tool or library that sinter uses, found or missing.
struct ToolStatus {
  std::string name;          ///< `nvrtc`
  std::string found = {};    ///< version and path; empty if it is missing
  std::string problem = {};  ///< why it is missing; empty if it was found
  std::string remedy = {};   ///< how to get it
};

/// The CUDA driver: `CUDA 12.8, driver 570.86.15`.
ToolStatus find_driver();
/// `13.0, /usr/lib/libnvrtc.so.13`
ToolStatus find_nvrtc();
/// The C++ compiler of the host device.
ToolStatus find_compiler();
/// The libraries of products, convolutions and collectives: a BLAS and oneDNN for the host device,
/// cuBLASLt, cuDNN and NCCL for GPUs. `OpenBLAS 0.3.21, /usr/lib/libopenblas.so.0`
std::vector<ToolStatus> find_libraries();
/// The library sinter::mpi of this version, beside the command: `libsinter_mpi.so.0.1, /usr/lib`. It is
/// not loaded.
ToolStatus find_mpi();
/// The folder of the disk cache, and whether it can be written.
ToolStatus find_cache();

struct DeviceList {
  std::vector<DeviceFacts> devices;
  std::vector<ToolStatus> broken;  ///< devices that the driver lists but that cannot be used
};

/// All GPUs, then the host device.
DeviceList list_devices();

/// The cache options as `compile` reads them from the environment. Throws UserError on an invalid
/// variable.
CacheOptions cache_options();

}  // namespace sinter::command
