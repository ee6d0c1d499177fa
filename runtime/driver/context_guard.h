// Around functions of others, which may leave another context current than they found.
#pragma once

#include "runtime/driver/driver.h"

namespace sinter {

/// Makes what is current on this thread now current again at the end.
class ContextGuard {
 public:
  explicit ContextGuard(const Driver& driver) noexcept
      : driver_(driver), is_known_(driver.cuCtxGetCurrent(&former_) == CUDA_SUCCESS) {}
  ~ContextGuard() {
    CUcontext left = nullptr;
    if (is_known_ && driver_.cuCtxGetCurrent(&left) == CUDA_SUCCESS && left != former_)
      driver_.cuCtxSetCurrent(former_);
  }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  const Driver& driver_;
  CUcontext former_ = nullptr;
  bool is_known_;
};

}  // namespace sinter
