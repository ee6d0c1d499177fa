// Violation: a rule that a kernel broke, found by a check.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace sinter::virtual_gpu {

enum class CheckKind : std::uint8_t {
  memory,           ///< bounds, freed memory, alignment, address spaces
  initialization,   ///< a read of bytes that nothing wrote
  race,             ///< conflicting accesses that nothing orders
  synchronization,  ///< barriers and shuffles with lanes missing, clusters, cooperative launches
  deadlock,         ///< no thread can continue
  arithmetic,       ///< a result that the PTX ISA manual leaves undefined
};

/// The position of a thread in a launch.
struct ThreadPosition {
  std::uint32_t launch = 0;  ///< the serial number of the launch or copy
  std::uint32_t block = 0;   ///< linear index
  std::uint32_t thread = 0;  ///< linear index in the block
};

/// The message names the kernel, the thread, the line of PTX with its text, the address, and the
/// problem. For a race it also names the other access.
class Violation : public std::runtime_error {
 public:
  Violation(CheckKind check, const std::string& message)
      : std::runtime_error(message), kind(check) {}
  CheckKind kind;
};

}  // namespace sinter::virtual_gpu
