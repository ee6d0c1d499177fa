// decode: PTX module -> Program.
#pragma once

#include <functional>
#include <memory>

#include "tests/virtual_gpu/program/program.h"

namespace sinter::virtual_gpu {

/// The address of a `.global` or `.const` variable of the module.
using AddressOf = std::function<std::uint64_t(const ptx::Variable&)>;

/// Decodes every kernel. Throws PtxError for an opcode, register or construct that is not known.
std::shared_ptr<const Program> decode(ptx::Module module, const AddressOf& address_of);

}  // namespace sinter::virtual_gpu
