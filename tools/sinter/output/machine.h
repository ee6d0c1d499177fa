// What the machine has for sinter, and how to get what it lacks.
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
  std::string arch;  ///< that kernels are planned for
  int sm_count = 0;  ///< 0 on the host device
  std::int64_t memory_bytes = 0;
};

/// Something that sinter uses and that is there, or is not.
struct Part {
  std::string name;    ///< `nvrtc`
  std::string found;   ///< what there is; empty: nothing
  std::string why;     ///< why it is not there; empty: it is
  std::string remedy;  ///< how to get it
};

/// The CUDA driver: `CUDA 12.8, driver 570.86.15`.
Part find_driver();
/// `13.0, /usr/lib/libnvrtc.so.13`
Part find_nvrtc();
/// Of the host device.
Part find_compiler();
/// Where the disk cache lies, and how it is used.
Part find_cache();

struct DeviceList {
  std::vector<DeviceFacts> devices;
  std::vector<Part> broken;  ///< devices that are listed and cannot be used
};

/// All GPUs, then the host device.
DeviceList list_devices();

/// As `compile` reads them. Throws UserError on a variable that means nothing.
CacheOptions cache_options();

}  // namespace sinter::command
