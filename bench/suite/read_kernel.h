// A kernel that reads memory and writes nothing: what bounds reductions, where a copy does not.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/driver/driver.h"
#include "sinter/sinter.h"

namespace sinter::suite {

/// What it is compiled from. Nothing tells the compiler that what it saw is never the key, so all
/// loads stay.
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

/// Four loads of 16 bytes of each of 2,048 threads per SM are under way at a time.
class ReadKernel {
 public:
  /// Never throws: why there is none says `reason`.
  explicit ReadKernel(const Device& device);
  ~ReadKernel();
  ReadKernel(const ReadKernel&) = delete;
  ReadKernel& operator=(const ReadKernel&) = delete;

  const std::string& reason() const { return why_not_; }  ///< empty if there is one
  /// Reads all of `from` but the bytes behind the last 16. Throws DriverError.
  void read(const Array& from, const Stream& stream) const;

 private:
  void load();

  Device device_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  Array target_;  ///< of what no run writes
  std::string why_not_;
};

}  // namespace sinter::suite
