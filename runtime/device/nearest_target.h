// What is known of a GPU by its name.
#pragma once

#include <string_view>

#include "compiler/target/target.h"

namespace sinter {

/// GPUs of one architecture differ in bandwidth, which the name tells: `NVIDIA H100 PCIe`.
struct NearestTarget {
  const Target* target = nullptr;  ///< of the architecture, where one is known of it
  bool is_named = false;           ///< by the name of the device
};
NearestTarget nearest_target(std::string_view device_name, std::string_view arch);

}  // namespace sinter
