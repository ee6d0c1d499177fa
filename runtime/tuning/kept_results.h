// KeptResults: the results of a kernel's default schedule, to compare with those of its candidates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/device/device_memory.h"
#include "runtime/tuning/comparison_kernel.h"
#include "runtime/tuning/scratch_buffers.h"

namespace sinter {

class KeptResults {
 public:
  /// Up to this size, copying and comparing takes the host about as long as compiling a kernel.
  static constexpr std::int64_t kMostOnHost = 16 << 20;

  /// Copies the results that are now in `buffers`, which must outlive this object. More than
  /// `most_on_host` bytes stay on a GPU; others go to the host.
  KeptResults(DeviceState& device, const ScratchBuffers& buffers, CUstream stream,
              std::int64_t most_on_host = kMostOnHost);

  /// True if the results that are now in the buffers have equal bits, or NaN at the same elements.
  /// Waits for the stream.
  bool equal_current() const;

 private:
  using Result = ScratchBuffers::Result;

  void copy_on_device();
  bool equal_on_device() const;

  DeviceState& device_;
  const ScratchBuffers& buffers_;
  CUstream stream_;
  const std::vector<Result> results_;
  const ComparisonKernel* kernel_ = nullptr;     ///< null: the host compares
  std::unique_ptr<DeviceMemory> memory_;         ///< with a kernel: a flag and the copies
  std::vector<CUdeviceptr> copies_;              ///< with a kernel, per result
  std::vector<std::vector<std::byte>> on_host_;  ///< without a kernel, per result
};

}  // namespace sinter
