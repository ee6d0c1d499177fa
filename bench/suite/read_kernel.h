// A kernel that reads memory and writes nothing: a tighter bound for reductions than a copy.
#pragma once

#include <string>

#include "runtime/driver/driver.h"
#include "sinter/sinter.h"

namespace sinter::suite {

/// The source of the kernel. The compiler cannot know that `seen` never equals `key`, so it keeps
/// all loads.
inline constexpr const char* kReadText = R"(
__device__ unsigned together(const uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

extern "C" __global__ void __launch_bounds__(256)
read_only(const uint4* __restrict__ from, unsigned long long count, unsigned key, unsigned* to) {
  const unsigned long long stride = gridDim.x * 256ull;
  unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
  unsigned seen = 0;
  for (; i + 3 * stride < count; i += 4 * stride) {
    const uint4 a = from[i];
    const uint4 b = from[i + stride];
    const uint4 c = from[i + 2 * stride];
    const uint4 d = from[i + 3 * stride];
    seen ^= together(a) ^ together(b) ^ together(c) ^ together(d);
  }
  for (; i < count; i += stride) seen ^= together(from[i]);
  if (seen == key) *to = seen;
}
)";

/// Keeps four 16-byte loads in flight for each of 2,048 threads per SM.
class ReadKernel {
 public:
  /// Never throws; `reason` says why the kernel is unavailable.
  explicit ReadKernel(const Device& device);
  ~ReadKernel();
  ReadKernel(const ReadKernel&) = delete;
  ReadKernel& operator=(const ReadKernel&) = delete;

  const std::string& reason() const { return reason_; }  ///< empty if the kernel is available
  /// Reads `from` in units of 16 bytes and ignores the remainder. Throws DriverError on failure.
  void read(const Array& from, const Stream& stream) const;

 private:
  void load();

  Device device_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  Array target_;  ///< the kernel's output, which is never written
  std::string reason_;
};

}  // namespace sinter::suite
