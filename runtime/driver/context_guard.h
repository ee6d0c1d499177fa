// Around functions of others, which may leave another context current than they found.
#pragma once

#include "runtime/driver/driver.h"

namespace sinter {

/// Makes what is current on this thread now current again at the end.
class KeptContext {
 public:
  explicit KeptContext(const Driver& driver) noexcept
      : driver_(driver), is_known_(driver.cuCtxGetCurrent(&former_) == CUDA_SUCCESS) {}
  ~KeptContext() {
    CUcontext left = nullptr;
    if (is_known_ && driver_.cuCtxGetCurrent(&left) == CUDA_SUCCESS && left != former_)
      driver_.cuCtxSetCurrent(former_);
  }
  KeptContext(const KeptContext&) = delete;
  KeptContext& operator=(const KeptContext&) = delete;

 private:
  const Driver& driver_;
  CUcontext former_ = nullptr;
  bool is_known_;
};

}  // namespace sinter
