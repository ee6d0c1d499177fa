// ContextGuard: protects the current context while functions of other libraries run.
#pragma once

#include "runtime/driver/driver.h"

namespace sinter {

/// Restores the context that is current on this thread now, at the end of the scope.
class ContextGuard {
 public:
  explicit ContextGuard(const Driver& driver) noexcept
      : driver_(driver), is_known_(driver.cuCtxGetCurrent(&previous_) == CUDA_SUCCESS) {}
  ~ContextGuard() {
    CUcontext left = nullptr;
    if (is_known_ && driver_.cuCtxGetCurrent(&left) == CUDA_SUCCESS && left != previous_)
      driver_.cuCtxSetCurrent(previous_);
  }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  const Driver& driver_;
  CUcontext previous_ = nullptr;
  bool is_known_;
};

}  // namespace sinter
