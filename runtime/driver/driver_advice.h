// Advice: the next step after a failed driver call, by its result code.
#pragma once

#include <string_view>

#include "runtime/driver/cuda_abi.h"

namespace sinter {

/// "; " and a sentence that says what to do; never empty for a GPU. The host device shares only the
/// rules of stream captures, so other codes have no advice if `is_host`.
std::string_view advice_on(cuda::CUresult result, bool is_host);

/// True for the errors after which no call to the device succeeds before the process ends: "This
/// leaves the process in an inconsistent state" (CUresult in the CUDA driver API).
bool loses_device(cuda::CUresult result);

}  // namespace sinter
