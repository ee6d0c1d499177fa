// What the environment says.
#pragma once

#include <cstdlib>
#include <string>

namespace sinter {

/// Empty where it is not set.
inline std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

}  // namespace sinter
