// The checks of a module's image before its PTX is parsed.
#pragma once

#include <string>

#include "tests/virtual_gpu/driver/result.h"

namespace sinter::virtual_gpu::driver {

/// The PTX text of an image. Throws Refusal if the image is a cubin or fat binary, or neither that
/// nor PTX. Also for PTX that is newer than the driver, or that the device cannot run.
std::string checked_ptx(const void* image, int driver_version, int compute_capability);

/// The newest PTX version of a driver: 84 for CUDA 12.4.
int newest_ptx_version(int driver_version);

/// True if code for `target` ("sm_90", "sm_90a", "sm_100f") runs on the device: PTX ISA manual,
/// `.target`.
bool can_run(std::string_view target, int compute_capability);

}  // namespace sinter::virtual_gpu::driver
