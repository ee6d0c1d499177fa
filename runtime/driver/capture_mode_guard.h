// CaptureModeGuard: permits calls that a stream capture of the caller would forbid.
#pragma once

#include "runtime/driver/driver.h"

namespace sinter {

/// Sets the capture mode of this thread to relaxed, and restores it at the end. In between, the
/// thread may allocate, load modules, and wait for work that is not captured. No capture becomes
/// invalid by that, neither of this thread nor a global one of another thread.
class CaptureModeGuard {
 public:
  explicit CaptureModeGuard(const Driver& driver) noexcept
      : driver_(driver),
        is_exchanged_(driver.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}
  ~CaptureModeGuard() {
    if (is_exchanged_) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  CaptureModeGuard(const CaptureModeGuard&) = delete;
  CaptureModeGuard& operator=(const CaptureModeGuard&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool is_exchanged_;
};

}  // namespace sinter
