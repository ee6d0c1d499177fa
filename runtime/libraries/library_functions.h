// The functions of library ops, such as matmul, which run on the libraries of the machine.
#pragma once

namespace sinter {

/// Registers the functions of all library ops, at its first call in the process.
void register_library_functions();

}  // namespace sinter
