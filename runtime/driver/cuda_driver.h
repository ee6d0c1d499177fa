// Opens the CUDA driver at run time and fills a Driver table from it.
#pragma once

#include "runtime/driver/driver.h"

#include <string>

namespace sinter {

inline constexpr int kMinimumCudaDriver = 12000;

/// The table, or the reason why there is none.
struct CudaDriver {
  const Driver* driver = nullptr;  // lives until the process ends
  std::string reason;              // one sentence; empty if there is a driver
};

/// Opens the driver library `library`, checks its version, initialises it and looks for a device. A
/// missing driver or device is not an exception: the result has the reason.
CudaDriver open_cuda_driver(const std::string& library);

/// The system's driver, opened at the first call.
const CudaDriver& cuda_driver();

/// The CUDA version of the system's driver: 12040 for CUDA 12.4. 0 without a driver. Does not start
/// the driver, so it needs no device.
int cuda_driver_version();

}  // namespace sinter
