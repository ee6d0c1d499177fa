#include "runtime/tuning/comparison_kernel.h"

#include <algorithm>
#include <string_view>

#include "compiler/target/target.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/driver/driver.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr const char* kCompareEntry = "sinter_compare";
constexpr std::string_view kComparing = "comparing results of candidates";
constexpr int kComparisonThreads = 256;
constexpr std::int64_t kComparisonBlocksPerSm = 8;
constexpr std::int64_t kBytesPerThread = 64;

/// Bytes in front of the first multiple of 16, and behind the last one, are compared one by one.
constexpr std::string_view kText = R"(
extern "C" __global__ void __launch_bounds__(256)
sinter_compare(const unsigned char* __restrict__ a, const unsigned char* __restrict__ b,
               const unsigned long long bytes, unsigned* flag) {
  typedef unsigned long long Size;
  const Size thread = blockIdx.x * static_cast<Size>(blockDim.x) + threadIdx.x;
  const Size threads = gridDim.x * static_cast<Size>(blockDim.x);
  const Size in_front = (16 - reinterpret_cast<Size>(a) % 16) % 16;
  const Size head = in_front < bytes ? in_front : bytes;
  const Size words = (bytes - head) / 16;
  const uint4* const a_words = reinterpret_cast<const uint4*>(a + head);
  const uint4* const b_words = reinterpret_cast<const uint4*>(b + head);
  unsigned differs = 0;
#pragma unroll 4
  for (Size i = thread; i < words; i += threads) {
    const uint4 x = a_words[i];
    const uint4 y = b_words[i];
    differs |= (x.x ^ y.x) | (x.y ^ y.y) | (x.z ^ y.z) | (x.w ^ y.w);
  }
  if (thread < head) differs |= a[thread] ^ b[thread];
  const Size at = head + words * 16 + thread;
  if (at < bytes) differs |= a[at] ^ b[at];
  if (differs != 0) atomicOr(flag, 1u);
}
)";

/// The newest virtual architecture that `compiler` and the device know.
std::string virtual_arch(const Nvrtc& compiler, std::string_view arch) {
  int newest = 0;
  for (const int known : compiler.architectures())
    if (known <= compute_capability_of(arch)) newest = std::max(newest, known);
  return newest == 0 ? nvrtc_arch(arch, true) : nvrtc_arch("sm_" + std::to_string(newest), true);
}

}  // namespace

/// Tries PTX first, which suits GPUs newer than NVRTC. A driver older than NVRTC may accept only
/// machine code.
ComparisonKernel::ComparisonKernel(const DeviceState& device) : device_(device) {
  const NvrtcOrReason& found = nvrtc();
  if (device.is_host || !found.nvrtc) return;
  for (const std::string& arch :
       {virtual_arch(*found.nvrtc, device.arch), nvrtc_arch(device.arch, false)}) {
    try {
      load(*found.nvrtc, arch);
      return;
    } catch (const Error&) {
      function_ = nullptr;  // the host compares
    }
  }
}

void ComparisonKernel::load(const Nvrtc& compiler, const std::string& arch) {
  const SourcePart part{kCompareEntry, kText};
  const NvrtcOutput output = compiler.compile("", {&part, 1}, arch);
  const void* const image =
      output.cubin.empty() ? static_cast<const void*>(output.ptx.c_str()) : output.cubin.data();
  module_ = std::make_unique<const Module>(device_, image, kComparing);
  const CurrentContext current(device_);
  check(device_.driver,
        device_.driver.cuModuleGetFunction(&function_, module_->handle, kCompareEntry),
        "cuModuleGetFunction", kComparing);
}

void ComparisonKernel::compare(CUdeviceptr a, CUdeviceptr b, std::int64_t bytes, CUdeviceptr flag,
                               CUstream stream) const {
  const std::int64_t per_block = kComparisonThreads * kBytesPerThread;
  const std::int64_t grid = std::clamp<std::int64_t>(
      (bytes + per_block - 1) / per_block, 1, device_.target.sm_count * kComparisonBlocksPerSm);
  auto size = static_cast<std::uint64_t>(bytes);
  void* parameters[] = {&a, &b, &size, &flag};
  const CUlaunchConfig config{.gridDimX = static_cast<unsigned>(grid),
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = kComparisonThreads,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = 0,
                              .hStream = stream,
                              .attrs = nullptr,
                              .numAttrs = 0};
  check(device_.driver,
        device_.driver.cuLaunchKernelEx(&config, function_, parameters, /*extra=*/nullptr),
        "cuLaunchKernelEx", kComparing);
}

}  // namespace sinter
