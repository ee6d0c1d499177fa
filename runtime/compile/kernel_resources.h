// Reads the resources of each compiled kernel: registers, spills, code size and loads in flight.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sinter/report.h"

namespace sinter {

/// By the name of a kernel: its report without architecture, cubin size and compile time.
using KernelResources = std::map<std::string, CubinReport, std::less<>>;

/// The kernels of a cubin. Registers, code size and loads come from the ELF file. Spills come from
/// `log`, the output of ptxas -v; without it they are 0. Throws InternalError if the file is
/// malformed.
KernelResources read_resources(std::span<const std::byte> cubin, std::string_view log);

}  // namespace sinter
