// Finds the known GPU that is nearest to a device.
#pragma once

#include <string_view>

#include "compiler/target/target.h"

namespace sinter {

/// GPUs of one architecture differ in bandwidth. The name identifies them: `NVIDIA H100 PCIe`.
struct NearestTarget {
  /// A target of the same architecture. If there is none, nearest_older_target.
  const Target* target = nullptr;
  bool is_named = false;  ///< the device name contains the name of the target
};
NearestTarget nearest_target(std::string_view device_name, std::string_view arch);

}  // namespace sinter
