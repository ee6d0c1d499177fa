#include "runtime/tuning/kept_results.h"

#include <cmath>
#include <cstring>
#include <string_view>

#include "ir/support/round_up.h"
#include "ir/types/element.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::string_view kKeptResults = "results of tuning";
constexpr std::int64_t kResultAlignment = 256;

bool is_nan(DType dtype, const std::byte* element) {
  return is_floating(dtype) && std::isnan(read_real(dtype, element));
}

bool equal_elements(DType dtype, const std::byte* a, const std::byte* b, std::size_t bytes) {
  if (std::memcmp(a, b, bytes) == 0) return true;
  const auto size = static_cast<std::size_t>(size_of(dtype));
  for (std::size_t i = 0; i < bytes; i += size)
    if (std::memcmp(a + i, b + i, size) != 0 && !(is_nan(dtype, a + i) && is_nan(dtype, b + i)))
      return false;
  return true;
}

std::vector<std::byte> read(const ScratchBuffers& buffers, const ScratchBuffers::Result& from,
                            CUdeviceptr pointer) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(from.bytes));
  buffers.read(pointer, bytes);
  return bytes;
}

}  // namespace

KeptResults::KeptResults(DeviceState& device, const ScratchBuffers& buffers, CUstream stream,
                         std::int64_t most_on_host)
    : device_(device), buffers_(buffers), stream_(stream), results_(buffers.results()) {
  std::int64_t bytes = 0;
  for (const Result& result : results_) bytes += result.bytes;
  if (bytes > most_on_host) {
    const ComparisonKernel& kernel = device.comparison_kernel.get(device);
    if (kernel.is_usable()) kernel_ = &kernel;
  }
  if (kernel_)
    copy_on_device();
  else
    for (const Result& result : results_) on_host_.push_back(read(buffers, result, result.pointer));
}

void KeptResults::copy_on_device() {
  std::int64_t bytes = kResultAlignment;  // the flag
  std::vector<std::int64_t> offsets;
  for (const Result& result : results_) {
    // As far from a multiple of 256 as the original.
    const auto distance = static_cast<std::int64_t>(result.pointer % kResultAlignment);
    offsets.push_back(bytes + distance);
    bytes += round_up(distance + result.bytes, kResultAlignment);
  }
  memory_ = std::make_unique<DeviceMemory>(device_, bytes, kKeptResults);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    copies_.push_back(memory_->pointer + static_cast<CUdeviceptr>(offsets[i]));
    check(device_.driver,
          device_.driver.cuMemcpyDtoDAsync(copies_[i], results_[i].pointer,
                                           static_cast<std::size_t>(results_[i].bytes), stream_),
          "cuMemcpyDtoDAsync", kKeptResults);
  }
}

bool KeptResults::equal_on_device() const {
  const CUdeviceptr flag = memory_->pointer;
  check(device_.driver, device_.driver.cuMemsetD8Async(flag, 0, sizeof(unsigned), stream_),
        "cuMemsetD8Async", kKeptResults);
  for (std::size_t i = 0; i < results_.size(); ++i)
    kernel_->compare(results_[i].pointer, copies_[i], results_[i].bytes, flag, stream_);
  unsigned differs = 0;
  buffers_.read(flag, std::as_writable_bytes(std::span(&differs, 1)));
  return differs == 0;
}

bool KeptResults::equal_current() const {
  if (kernel_ && equal_on_device()) return true;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const std::vector<std::byte> current = read(buffers_, results_[i], results_[i].pointer);
    const std::vector<std::byte> kept =
        kernel_ ? read(buffers_, results_[i], copies_[i]) : on_host_[i];
    if (!equal_elements(results_[i].dtype, kept.data(), current.data(), kept.size())) return false;
  }
  return true;
}

}  // namespace sinter
