// Copies between devices and host memory, and pinned memory: the copy functions of Device, and
// PinnedArray.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "ir/shape/strided_iterator.h"
#include "runtime/device/device_state.h"
#include "runtime/device/staging.h"
#include "runtime/device/stream_capture.h"
#include "runtime/logging/counting.h"
#include "runtime/logging/trace.h"
#include "sinter/array.h"
#include "sinter/error.h"

namespace sinter {

namespace {

void check_device(std::string_view what, const ArrayData& array, const DeviceState& device,
                  const Stream& stream) {
  if (array.device != &device || &stream.state()->device != &device)
    throw UserError(fmt::format(
        "{}: the array is on {}, the stream on {}, but the copy was called on {}; use one device",
        what, to_string(*array.device), to_string(stream.state()->device), to_string(device)));
}

/// Throws UserError unless the array is one contiguous range on the stream's device.
void check_copyable(std::string_view what, const ArrayData& array, const DeviceState& device,
                    const Stream& stream) {
  check_device(what, array, device, stream);
  if (!array.is_row_major)
    throw UserError(fmt::format("{}: {} with strides {} is not row-major; use a row-major array",
                                what, type_text(array), to_string(array.strides)));
}

void check_writable(std::string_view what, const ArrayData& array) {
  if (array.is_read_only)
    throw UserError(
        fmt::format("{}: {} is read-only; copy to a writable array", what, type_text(array)));
}

std::int64_t bytes_of_elements(const ArrayData& array) {
  return array.elements * size_of(array.dtype);
}

void check_same_bytes(std::string_view what, const ArrayData& array, std::int64_t bytes,
                      std::string_view other) {
  if (bytes_of_elements(array) != bytes)
    throw UserError(fmt::format("{}: {} has {} bytes but {} has {}; they must be equal", what,
                                type_text(array), bytes_of_elements(array), other, bytes));
}

/// Counts a copy and traces its call.
class CopyTrace {
 public:
  CopyTrace(std::string_view what, const ArrayData& array)
      : span_("copy", [&] { return fmt::format("{} {}", what, type_text(array)); }) {
    span_.add("bytes", array.bytes);
    count(Count::copies);
    count(Count::copied_bytes, array.bytes);
  }

 private:
  TraceSpan span_;
};

/// The arrays of a captured copy, which the caller's CUDA Graph keeps alive.
struct CopiedArrays : DeferredRelease {
  using DeferredRelease::DeferredRelease;

  std::vector<Array> arrays;
};

/// The scope of a copy of `arrays` on `stream`. Records the use of their memory. If the stream is
/// being captured, the graph keeps the arrays alive, and no other thread may change the graph.
class CopyScope {
 public:
  CopyScope(std::string_view what, const Stream& stream, std::initializer_list<const Array*> arrays)
      : stream_(*stream.state()) {
    std::ranges::copy(arrays, arrays_.begin());
    if (!sinter::is_captured(what, stream_)) [[likely]] {
      for (const Array* array : arrays)
        if (const DeviceMemory* memory = array->data().memory.get())
          memory->begin_use(stream.state());
      return;
    }
    auto kept = std::make_unique<CopiedArrays>(stream_.device.driver);
    for (const Array* array : arrays) {
      if (const DeviceMemory* memory = array->data().memory.get()) memory->await_previous_uses();
      kept->arrays.push_back(*array);
    }
    graph_.emplace(what, stream_);
    graph_->keep(std::move(kept));
  }
  ~CopyScope() {
    if (graph_) return;
    for (const Array* array : arrays_)
      if (const DeviceMemory* memory = array ? array->data().memory.get() : nullptr)
        memory->end_use(stream_);
  }
  bool is_captured() const { return graph_.has_value(); }
  CopyScope(const CopyScope&) = delete;
  CopyScope& operator=(const CopyScope&) = delete;

 private:
  const StreamState& stream_;
  std::array<const Array*, 2> arrays_{};
  std::optional<CapturedGraph> graph_;
};

void copy_to_host(const Array& from, void* to, const Stream& stream) {
  const ArrayData& array = from.data();
  const Driver& driver = array.device->driver;
  const CurrentContext current(*array.device);
  const CaptureModeGuard relaxed(driver);
  const CopyScope scope("Device::download", stream, {&from});
  const CopyTrace trace("download", array);
  const auto bytes = static_cast<std::size_t>(array.bytes);
  const auto what = [&] { return "download of " + type_text(array); };
  const std::size_t done =
      scope.is_captured()
          ? 0
          : array.device->staging->download(to, array.pointer, bytes, *stream.state(), what);
  if (done == bytes) return;
  check(driver,
        driver.cuMemcpyDtoHAsync(static_cast<std::byte*>(to) + done, array.pointer + done,
                                 bytes - done, stream.state()->handle),
        "cuMemcpyDtoHAsync", what);
}

/// Calls `visit` with the bytes at which each element begins: in row-major order, and in a copy of
/// the array's memory.
template <class Visit>
void for_each_element(const ArrayData& array, Visit visit) {
  const auto element_bytes = static_cast<std::size_t>(size_of(array.dtype));
  StridedIterator iterator(array.shape, {array.strides});
  for (std::size_t i = 0; i < static_cast<std::size_t>(array.elements); ++i, iterator.next())
    visit(i * element_bytes, static_cast<std::size_t>(iterator.offset(0)) * element_bytes);
}

/// Writes the elements of `array` to `to` in row-major order. `from` has a copy of its memory.
void gather(const ArrayData& array, const std::byte* from, std::byte* to) {
  const auto element_bytes = static_cast<std::size_t>(size_of(array.dtype));
  for_each_element(array, [&](std::size_t in_order, std::size_t strided) {
    std::memcpy(to + in_order, from + strided, element_bytes);
  });
}

}  // namespace

void Device::upload(const Array& to, const void* from, const Stream& stream) const {
  const ArrayData& array = to.data();
  check_copyable("Device::upload", array, *state_, stream);
  check_writable("Device::upload", array);
  if (array.bytes == 0) return;
  const CurrentContext current(*state_);
  const CaptureModeGuard relaxed(state_->driver);
  const CopyScope scope("Device::upload", stream, {&to});
  const CopyTrace trace("upload", array);
  const auto bytes = static_cast<std::size_t>(array.bytes);
  const auto what = [&] { return "upload to " + type_text(array); };
  const std::size_t done = scope.is_captured() ? 0
                                               : state_->staging->upload(array.pointer, from, bytes,
                                                                         *stream.state(), what);
  if (done == bytes) return;
  check(state_->driver,
        state_->driver.cuMemcpyHtoDAsync(array.pointer + done,
                                         static_cast<const std::byte*>(from) + done, bytes - done,
                                         stream.state()->handle),
        "cuMemcpyHtoDAsync", what);
  // The caller may change pageable memory when this returns.
  if (!scope.is_captured() && state_->staging->may_read_later(from))
    check(state_->driver, state_->driver.cuStreamSynchronize(stream.state()->handle),
          "cuStreamSynchronize", what);
}

void Device::upload(const Array& to, const PinnedArray& from, const Stream& stream) const {
  check_same_bytes("Device::upload", to.data(), from.bytes(), "the pinned array");
  upload(to, static_cast<const void*>(from.pointer()), stream);
}

Array upload_strided(const Stream& stream, const void* elements, DType dtype, Sizes shape,
                     Sizes strides) {
  const Device device = stream.device();
  const Array result = device.empty(dtype, shape, strides);
  if (result.is_row_major()) {
    device.upload(result, elements, stream);
    return result;
  }
  std::vector<std::byte> memory(static_cast<std::size_t>(result.bytes()));
  const auto element_bytes = static_cast<std::size_t>(size_of(dtype));
  for_each_element(result.data(), [&](std::size_t in_order, std::size_t strided) {
    std::memcpy(memory.data() + strided, static_cast<const std::byte*>(elements) + in_order,
                element_bytes);
  });
  device.upload(result.view(0, boolean, {result.bytes()}), memory, stream);
  return result;
}

void Device::download(const Array& from, void* to, const Stream& stream) const {
  const ArrayData& array = from.data();
  check_device("Device::download", array, *state_, stream);
  if (array.bytes == 0) return;
  if (array.is_row_major) return copy_to_host(from, to, stream);
  check_can_download(stream);
  std::vector<std::byte> memory(static_cast<std::size_t>(array.bytes));
  copy_to_host(from, memory.data(), stream);
  try {
    stream.synchronize();
  } catch (...) {
    // The copy may still write to the memory, so it is never freed. The host device copies nothing
    // after a failure.
    if (!state_->is_host) new std::vector<std::byte>(std::move(memory));
    throw;
  }
  gather(array, memory.data(), static_cast<std::byte*>(to));
}

void Device::download(const Array& from, PinnedArray& to, const Stream& stream) const {
  check_same_bytes("Device::download", from.data(), to.bytes(), "the pinned array");
  download(from, to.pointer(), stream);
}

void Device::copy(const Array& from, const Array& to, const Stream& stream) const {
  check_copyable("Device::copy", from.data(), *state_, stream);
  check_copyable("Device::copy", to.data(), *state_, stream);
  check_writable("Device::copy", to.data());
  check_same_bytes("Device::copy", to.data(), from.bytes(), "the source");
  if (from.bytes() == 0) return;
  const CurrentContext current(*state_);
  const CopyScope scope("Device::copy", stream, {&from, &to});
  const CopyTrace trace("copy", from.data());
  const auto bytes = static_cast<std::size_t>(from.bytes());
  check(state_->driver,
        state_->driver.cuMemcpyDtoDAsync(to.data().pointer, from.data().pointer, bytes,
                                         stream.state()->handle),
        "cuMemcpyDtoDAsync", [&] { return "copy of " + type_text(from.data()); });
}

void Device::check_host_range(const Array& array, std::size_t count, std::size_t element_bytes) {
  const ArrayData& data = array.data();
  if (element_bytes != static_cast<std::size_t>(size_of(data.dtype)) ||
      count != static_cast<std::size_t>(data.elements))
    throw UserError(
        fmt::format("copy: {} has {} elements of {} bytes but the host range has {} of {}",
                    type_text(data), data.elements, size_of(data.dtype), count, element_bytes));
}

void Device::check_can_download(const Stream& stream) {
  check_can_wait("Device::download", *stream.state());
}

std::size_t Device::element_count(const Array& array) {
  return static_cast<std::size_t>(array.elements());
}

PinnedMemory::PinnedMemory(DeviceState& device, DType dtype, std::vector<std::int64_t> sizes)
    : device(device), dtype(dtype), shape(std::move(sizes)) {
  elements = checked_elements("Device::pinned", dtype, shape);
  bytes = elements * size_of(dtype);
  if (bytes == 0) return;
  const CurrentContext current(device);
  const CaptureModeGuard relaxed(device.driver);
  check(device.driver,
        device.driver.cuMemHostAlloc(&pointer, static_cast<std::size_t>(bytes),
                                     kMemHostAllocPortable),
        "cuMemHostAlloc",
        [&] { return fmt::format("{}{} ({} bytes)", name(dtype), to_string(shape), bytes); });
}

PinnedMemory::~PinnedMemory() {
  if (!pointer) return;
  const CurrentContextNoThrow current(device);
  log_failed_release(device.driver, device.driver.cuMemFreeHost(pointer), "cuMemFreeHost");
}

PinnedArray Device::pinned(DType dtype, Sizes shape) const {
  return PinnedArray(std::make_shared<PinnedMemory>(
      *state_, dtype, std::vector<std::int64_t>(shape.begin(), shape.end())));
}

DType PinnedArray::dtype() const { return memory_->dtype; }
std::span<const std::int64_t> PinnedArray::shape() const { return memory_->shape; }
std::int64_t PinnedArray::elements() const { return memory_->elements; }
std::int64_t PinnedArray::bytes() const { return memory_->bytes; }
void* PinnedArray::pointer() const { return memory_->pointer; }

void PinnedArray::check_element_bytes(std::size_t bytes) const {
  if (bytes != static_cast<std::size_t>(size_of(dtype())))
    throw UserError(fmt::format("PinnedArray::elements_as: an element of {} has {} bytes, not {}",
                                name(dtype()), size_of(dtype()), bytes));
}

}  // namespace sinter
