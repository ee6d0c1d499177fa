// What stream captures of the caller's allow: most of what a runtime does beside launching.
#pragma once

#include "runtime/driver/driver.h"

namespace sinter {

/// As long as it lives this thread may do what captures forbid elsewhere (allocate, load, wait for
/// what is not captured), and no capture is spoiled by it, neither one of this thread's nor a
/// global one of another thread's.
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
