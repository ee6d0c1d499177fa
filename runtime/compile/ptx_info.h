// Reads back from a kernel's PTX how wide it accesses global memory, and which parameter it does
// that by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// One load or store of global memory, as an instruction; or a call of a function that is not in
/// the text, which may have any.
struct PtxAccess {
  int line = 0;        ///< of the PTX text, from 1
  int bytes = 0;       ///< of one thread
  int parameter = -1;  ///< of the kernel, from 0, that the address is made of; -1: not found
  /// If the address was loaded from where that parameter points to: the offset in bytes that the
  /// instruction that loaded it has; -1: the parameter is the address.
  int loaded_at = -1;
  bool is_store = false;
  std::string callee = {};  ///< of such a call
};

/// Those of the kernel `entry` in the order of its text, atomic operations left out, and memory
/// that it is not given: of its blocks and threads, and constants. Those of functions stand where
/// they are called, which may be more than once. Throws InternalError if `ptx` has no such kernel.
std::vector<PtxAccess> read_accesses(std::string_view ptx, std::string_view entry);

}  // namespace sinter
