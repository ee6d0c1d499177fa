// Reads the accesses to global memory from a kernel's PTX: their widths, and the parameters that
// the addresses come from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// One load or store instruction of global memory, or a copy from there to shared memory. Or a call
/// of a function that is not in the text or calls itself, whose accesses are unknown.
struct PtxAccess {
  int line = 0;        ///< in the PTX text, from 1
  int bytes = 0;       ///< per thread
  int parameter = -1;  ///< of the kernel, from 0, with the address; -1: unknown
  /// The byte offset of the instruction that loaded the address through the parameter. If this is
  /// -1, the parameter itself is the address.
  int loaded_at = -1;
  bool is_store = false;
  std::string callee = {};  ///< of a call
};

/// The accesses of the kernel `entry` in the order of its text. Accesses of a function appear at
/// each of its calls. Atomic operations are left out, and so is memory that is no parameter:
/// shared, local and constant memory. Throws InternalError if `ptx` has no such kernel.
std::vector<PtxAccess> read_accesses(std::string_view ptx, std::string_view entry);

}  // namespace sinter
