// Device, Stream and Event: the devices that programs run on, queues of work, and synchronization.
#pragma once

#include <cstdint>
#include <memory>
#include <ranges>
#include <string_view>
#include <vector>

#include "sinter/dtype.h"
#include "sinter/shape.h"

namespace sinter {

struct DeviceState;  // internal
struct StreamState;  // internal
struct EventState;   // internal
class Array;
class PinnedArray;
class Event;
class Stream;

/// The parameter type for concrete extents: accepts `{2048, 4096}`, a vector, or a span.
using Sizes = Axes;

/// A GPU or a host device. A handle that is cheap to copy and usable from any thread. Devices live
/// as long as the process.
class Device {
 public:
  explicit Device(DeviceState* state) : state_(state) {}

  std::string_view name() const;
  /// The architecture that kernels are planned for, for example `sm_90`. A host device reports that
  /// of the GPU that it emulates.
  std::string_view arch() const;
  /// True for a host device: the CPU, which runs the emitted kernels.
  bool is_host() const;
  /// The index among devices of the same kind, from 0.
  int ordinal() const;

  /// Allocates an array with unspecified contents. `strides` are in elements; without them the
  /// array is row-major. Throws UserError if shape or strides are invalid, DriverError if there is
  /// not enough memory.
  Array empty(DType dtype, Sizes shape, Sizes strides = {}) const;
  /// Allocates page-locked host memory, so that copies run asynchronously.
  PinnedArray pinned(DType dtype, Sizes shape) const;
  /// A new stream, which does not synchronize with the default stream.
  Stream stream() const;
  Event event() const;

  /// Copies `to.bytes()` bytes of host memory to the row-major array `to`, in the order of
  /// `stream`. If the host memory is pinned, the copy is asynchronous: the memory must not change
  /// before the copy is done.
  ///
  /// If `stream` is being captured, each launch of the captured CUDA Graph reads the host memory.
  /// The graph keeps the array alive, but not the host memory.
  ///
  /// Throws UserError if the array is read-only, not row-major, or on another device.
  void upload(const Array& to, const void* from, const Stream& stream) const;
  /// Copies a contiguous range. Throws UserError unless the number of elements and their size are
  /// those of the array.
  template <std::ranges::contiguous_range Range>
  void upload(const Array& to, const Range& from, const Stream& stream) const {
    check_host_range(to, std::ranges::size(from), sizeof(*std::ranges::data(from)));
    upload(to, static_cast<const void*>(std::ranges::data(from)), stream);
  }
  void upload(const Array& to, const PinnedArray& from, const Stream& stream) const;

  /// Copies the elements of `from` in row-major order to host memory, in the order of `stream`. If
  /// the array is not row-major, this call waits for the copy and reorders the elements on the
  /// host. In that case it throws UserError if `stream` is being captured.
  void download(const Array& from, void* to, const Stream& stream) const;
  void download(const Array& from, PinnedArray& to, const Stream& stream) const;
  /// Returns the elements in row-major order, after all earlier work on `stream`. Waits for them.
  /// Throws UserError if `stream` is being captured, or if `Element` does not have the size of the
  /// dtype.
  template <class Element>
  std::vector<Element> download(const Array& from, const Stream& stream) const;

  /// Copies between two row-major arrays with the same number of bytes, in the order of `stream`.
  /// Throws UserError if the arrays do not allow that.
  void copy(const Array& from, const Array& to, const Stream& stream) const;
  /// Waits for all work on the device. An error while one of its streams is being captured.
  void synchronize() const;
  /// Returns idle memory to the driver: memory that Arrays and Contexts released and that
  /// Options::idle_bytes keeps for reuse. Waits for work that still uses it.
  void trim() const;

  DeviceState* state() const { return state_; }
  friend bool operator==(const Device&, const Device&) = default;

 private:
  static void check_host_range(const Array& array, std::size_t count, std::size_t element_bytes);
  static void check_can_download(const Stream& stream);
  static std::size_t element_count(const Array& array);

  DeviceState* state_;
};

/// The first CUDA device if there is one, else the host device.
Device default_device();
/// Throws DriverError, with the reason, if there is no CUDA device; UserError if `ordinal` is out
/// of range.
Device cuda_device(int ordinal = 0);
/// The CPU as a device. Several host devices share its memory and threads, so that programs for
/// several GPUs can be tested without a GPU. Throws UserError if `ordinal` is out of range.
Device host_device(int ordinal = 0);
/// All CUDA devices, then the first host device.
std::vector<Device> devices();

/// A queue of work on a device. A handle with shared ownership, usable from any thread.
class Stream {
 public:
  /// Wraps a CUDA stream that the caller owns (nullptr: the default stream). The stream must
  /// outlive all work that sinter puts on it.
  static Stream wrap(void* handle, Device device = default_device());

  Device device() const;
  /// The CUstream.
  void* handle() const;
  /// Waits until all work on the stream is done. Throws UserError if the stream is being captured.
  void synchronize() const;
  /// Work that is put on the stream from now on starts only after the point that `event` recorded.
  void wait(const Event& event) const;

  const std::shared_ptr<StreamState>& state() const { return state_; }

 private:
  friend class Device;
  explicit Stream(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}

  std::shared_ptr<StreamState> state_;
};

/// A point in the work of a stream. A handle with shared ownership.
class Event {
 public:
  /// Records the point after all work that is on `stream` now.
  void record(const Stream& stream) const;
  /// Waits for the recorded point; returns at once if nothing was recorded. Throws UserError if the
  /// point was recorded on a stream that was being captured.
  void synchronize() const;
  /// True if the recorded point has been reached, or nothing was recorded. Throws as synchronize
  /// does.
  bool is_done() const;
  /// Milliseconds from the point of `start` to this point; both must have been reached.
  float elapsed_since(const Event& start) const;

 private:
  friend class Device;
  friend class Stream;
  explicit Event(std::shared_ptr<EventState> state) : state_(std::move(state)) {}

  std::shared_ptr<EventState> state_;
};

template <class Element>
std::vector<Element> Device::download(const Array& from, const Stream& stream) const {
  std::vector<Element> elements(element_count(from));
  check_host_range(from, elements.size(), sizeof(Element));
  check_can_download(stream);
  download(from, static_cast<void*>(elements.data()), stream);
  try {
    stream.synchronize();
  } catch (...) {
    // The copy may still write to the elements, so they are never freed. The host device copies
    // nothing after a failure.
    if (!is_host()) new std::vector<Element>(std::move(elements));
    throw;
  }
  return elements;
}

}  // namespace sinter
