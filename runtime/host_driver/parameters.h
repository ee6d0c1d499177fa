// What a kernel of the host device says of its own parameters.
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/cuda_abi.h"

namespace sinter::host {

/// How many parameters `function` takes; nullopt: it is not loaded.
std::optional<std::size_t> parameter_count(cuda::CUfunction function);

}  // namespace sinter::host
