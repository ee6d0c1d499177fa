// Device, Stream and Event: where programs run, in which order, and how to wait.
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

/// How a function takes concrete extents: from `{2048, 4096}`, a vector, or a span.
using Sizes = Axes;

/// A GPU, or the host device: a handle, free to copy, usable from any thread. Devices live as long
/// as the process.
class Device {
 public:
  explicit Device(DeviceState* state) : state_(state) {}

  std::string_view name() const;
  /// The architecture that kernels are planned and compiled for: `sm_90`.
  std::string_view arch() const;
  /// True for the CPU that runs the emitted kernels.
  bool is_host() const;
  /// Its number among devices of its kind.
  int ordinal() const;

  /// Fresh memory with unspecified contents; `strides` in elements, none: row-major. Throws
  /// DriverError where there is not enough.
  Array empty(DType dtype, Sizes shape, Sizes strides = {}) const;
  /// Host memory that copies to and from the device run asynchronously with.
  PinnedArray pinned(DType dtype, Sizes shape) const;
  /// A new stream, which does not wait for the default one.
  Stream stream() const;
  Event event() const;

  /// Copies host memory of `to.bytes()` bytes to a row-major array, in the order of `stream`.
  /// Asynchronous if the host memory is pinned; it must then stay untouched until the copy is done.
  /// On a stream that is being captured it is read whenever the caller's CUDA Graph is launched,
  /// which holds the array, but not the host memory.
  void upload(const Array& to, const void* from, const Stream& stream) const;
  /// The same from a range whose size in bytes is that of the array.
  template <std::ranges::contiguous_range Range>
  void upload(const Array& to, const Range& from, const Stream& stream) const {
    check_host_range(to, std::ranges::size(from), sizeof(*std::ranges::data(from)));
    upload(to, static_cast<const void*>(std::ranges::data(from)), stream);
  }
  void upload(const Array& to, const PinnedArray& from, const Stream& stream) const;

  /// Copies the elements of `from` in row-major order to host memory, in the order of `stream`. An
  /// array that is not row-major is put in order on the host, for which this call waits. What waits
  /// throws UserError on a stream that is being captured.
  void download(const Array& from, void* to, const Stream& stream) const;
  void download(const Array& from, PinnedArray& to, const Stream& stream) const;
  /// The elements of an array in row-major order, after everything before it on `stream`; waits for
  /// them.
  template <class Element>
  std::vector<Element> download(const Array& from, const Stream& stream) const;

  /// Copies between two row-major arrays of the same size, in the order of `stream`.
  void copy(const Array& from, const Array& to, const Stream& stream) const;
  /// Waits for everything on the device; an error while a stream of it is captured.
  void synchronize() const;
  /// Gives the driver what Arrays and Contexts gave back and Options::idle_bytes keeps for the next
  /// ones. Waits for what uses it.
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
/// Throws DriverError, which says why, where there is no such device.
Device cuda_device(int ordinal = 0);
/// The CPU as a device. There are several, which share its memory and threads, so that programs for
/// several GPUs can be tried without one; throws UserError where `ordinal` is none of them.
Device host_device(int ordinal = 0);
/// All CUDA devices, then the first host device.
std::vector<Device> devices();

/// A queue of work on a device: a handle with shared ownership, usable from any thread.
class Stream {
 public:
  /// A CUDA stream that belongs to somebody else (nullptr: the default stream) and must outlive all
  /// work that is put on it here.
  static Stream wrap(void* handle, Device device = default_device());

  Device device() const;
  /// The CUstream.
  void* handle() const;
  /// Waits until everything that was put on the stream is done. Throws UserError if it is being
  /// captured.
  void synchronize() const;
  /// What is put on the stream from now on starts only after what `event` recorded.
  void wait(const Event& event) const;

  const std::shared_ptr<StreamState>& state() const { return state_; }

 private:
  friend class Device;
  explicit Stream(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}

  std::shared_ptr<StreamState> state_;
};

/// A point in the work of a stream: a handle with shared ownership.
class Event {
 public:
  /// Marks the end of what is on `stream` now.
  void record(const Stream& stream) const;
  /// Waits for the recorded point; returns at once if nothing was recorded. Throws UserError if
  /// that was on a stream that was being captured.
  void synchronize() const;
  /// True if the recorded point has been passed, or nothing was recorded. Throws as synchronize
  /// does.
  bool is_done() const;
  /// The milliseconds from `start`'s point to this one; both must be done.
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
  stream.synchronize();
  return elements;
}

}  // namespace sinter
