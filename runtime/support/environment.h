// Reads environment variables.
#pragma once

#include <cstdlib>
#include <string>

namespace sinter {

/// The value of the variable; empty if it is not set.
inline std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

}  // namespace sinter
