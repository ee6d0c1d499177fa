// ComparisonKernel: compares memory on a GPU, so that tuning need not copy results to the host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device_state.h"

namespace sinter {

class Nvrtc;

class ComparisonKernel {
 public:
  /// Compiles the kernel. Where that fails, for example without NVRTC, `is_usable` is false.
  explicit ComparisonKernel(const DeviceState& device);

  bool is_usable() const { return function_ != nullptr; }
  /// Sets the word at `flag` to 1 if the `bytes` bytes at `a` and at `b` differ. The distance of
  /// `a` and `b` must be a multiple of 16. Does not wait for `stream`. Throws DriverError.
  void compare(CUdeviceptr a, CUdeviceptr b, std::int64_t bytes, CUdeviceptr flag,
               CUstream stream) const;

 private:
  void load(const Nvrtc& compiler, const std::string& arch);

  const DeviceState& device_;
  std::unique_ptr<const Module> module_;
  CUfunction function_ = nullptr;
};

}  // namespace sinter
