// Executables in files: compiled once, loaded where there is nothing but a driver.
#pragma once

#include <string>
#include <vector>

#include "sinter/device.h"
#include "sinter/options.h"

namespace sinter {

class Executable;

struct SaveOptions {
  /// What to save kernels for: architectures (`sm_90`), or GPUs that sinter knows by name
  /// (`h100_pcie`), which are planned for; and `host`. Empty: the device that it was compiled for.
  /// What was tuned is saved for that one alone; kernels for others have the default schedules.
  std::vector<std::string> archs = {};
  /// Files that the same program was saved to on other machines: their kernels go in too, as they
  /// were tuned there.
  std::vector<std::string> tuned_elsewhere = {};
};

struct LoadOptions {
  /// Sizes that the file has no kernels for are planned, compiled and tuned as by `compile`; else
  /// they are refused.
  bool compiles_missing = false;
  /// How that is done, and what is told. What changes bits (`rounding`, `math`, `fuse`, `skip`) is
  /// as it was when the file was saved.
  Options options = {};
};

/// The executable that Executable::save wrote to the file `path`, with kernels for `device`. Needs
/// the driver alone: nothing is planned, and nothing compiled but what is there as PTX, by the
/// driver, for GPUs that the NVRTC of whoever saved it did not know. Throws UserError where the
/// file cannot be read, is damaged, was written by a sinter with another format, has no kernels
/// that run on the device, may have been written by others, or calls a function that is not
/// registered as it was then (`sinter/opaque.h`); DriverError where the driver refuses
/// what is in it.
///
/// Whoever loads a file runs it: it holds code, for the host device native code of this process,
/// some of which runs as soon as it is loaded, before any run is asked for. What is not code cannot
/// break the reader.
Executable load(const std::string& path, Device device, const LoadOptions& options = {},
                const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace sinter
