// Executables in files: compiled once, loaded on machines that have only a driver.
#pragma once

#include <string>
#include <vector>

#include "sinter/device.h"
#include "sinter/options.h"

namespace sinter {

class Executable;

struct SaveOptions {
  /// The targets: architectures (`sm_90`), GPUs that sinter knows by name (`h100_pcie`), or `host`.
  /// Empty: the device that the program was compiled for. Tuned schedules are saved for that device
  /// only; kernels for other targets have the default schedules.
  std::vector<std::string> archs = {};
  /// Files that the same program was saved to on other machines. Their kernels are added as they
  /// were tuned there.
  std::vector<std::string> tuned_elsewhere = {};
};

struct LoadOptions {
  /// True: sizes without kernels in the file are planned, compiled and tuned as by `compile`.
  /// False: they are refused.
  bool compiles_missing = false;
  /// The options for that, and for logs. `rounding`, `math`, `fuse` and `skip` change bits or
  /// kernels, so they are taken from the file instead.
  Options options = {};
};

/// Loads the executable that Executable::save wrote to the file `path`, with kernels for `device`.
/// This needs only the driver, and plans nothing. The driver compiles kernels that were saved as
/// PTX, for GPUs that were too new for the NVRTC of the saving machine.
///
/// The weights of the file become those of the executable. On a host device they are read-only
/// views of the mapped file, which must not be changed in place while they are used. On a GPU they
/// are copied to it. So are weights that the program updates, on every device.
///
/// Throws UserError if the file cannot be read, is damaged, has another format version, or has no
/// kernels that run on the device. The same holds if another user may have written the file, or if
/// it calls a function that is not registered in the saved version. Functions are registered by
/// `sinter/opaque.h`. Throws DriverError if the driver rejects a kernel.
///
/// Load only trusted files: a file contains code. For the host device that is native code for this
/// process, and some of it runs during the load. Data in the file cannot crash the reader.
Executable load(const std::string& path, Device device, const LoadOptions& options = {},
                const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace sinter
