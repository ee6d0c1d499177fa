// Early starts of kernels in PTX, for tests.
#pragma once

#include "runtime/execution/executable_state.h"
#include "sinter/sinter.h"

namespace sinter::virtual_gpu {

/// Lets the kernels of the prepared size classes start early, as those in machine code do. By
/// itself the runtime starts no kernel in PTX early, because the driver makes code that it does not
/// see. The virtual GPU executes the PTX itself, in which each of these kernels waits first.
inline void start_early(const Executable& executable) {
  for (const std::shared_ptr<const Variant>& variant : executable.state()->variants())
    for (const VariantKernel& kernel : variant->kernels)
      if (kernel.source.may_start_early) const_cast<VariantKernel&>(kernel).starts_early = true;
}

}  // namespace sinter::virtual_gpu
