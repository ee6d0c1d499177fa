// The state behind the handles Device, Stream, Event, Array and PinnedArray.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/target.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/memory_pool.h"
#include "runtime/driver/capture_mode_guard.h"
#include "runtime/driver/driver.h"
#include "sinter/array.h"
#include "sinter/device.h"

namespace sinter {

class ComparisonKernel;
class CompileService;
class Staging;
class TuningStore;

/// A suffix for the error context of calls that report failures of earlier work.
inline constexpr const char* kEarlierWorkSuffix =
    ", where work that was queued before may have failed";

/// A service that a higher layer implements, created at its first use.
template <class Service>
class OnFirstUse {
 public:
  /// The service, created with `arguments` if this is its first use. Any thread may call this.
  template <class... Arguments>
  Service& get(Arguments&... arguments) const {
    std::call_once(created_, [&] { service_ = std::make_shared<Service>(arguments...); });
    return *service_;
  }
  /// The service, or null before its first use.
  const Service* find() const { return service_.get(); }
  /// For tests: replaces the service, as if the process had just started.
  void replace(std::shared_ptr<Service> service) { service_ = std::move(service); }

 private:
  mutable std::once_flag created_;
  mutable std::shared_ptr<Service> service_;
};

/// One device. It lives until the process ends, because other objects may refer to it until then.
struct DeviceState {
  DeviceState(const Driver& driver, int ordinal);
  ~DeviceState();
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  const Driver& driver;
  int ordinal = 0;
  bool is_host = false;
  CUdevice handle = 0;
  CUcontext context = nullptr;  ///< the primary context
  std::string name;
  std::string arch;  ///< Target::arch points here
  Target target;
  OnFirstUse<CompileService> compile_service;
  OnFirstUse<TuningStore> tuning_store;
  OnFirstUse<ComparisonKernel> comparison_kernel;
  std::unique_ptr<MemoryPool> memory_pool;
  std::unique_ptr<Staging> staging;
};

/// Name, driver and ordinal, since a machine may have several devices with one name: `NVIDIA H200
/// (cuda:1)`.
std::string to_string(const DeviceState& device);

/// Makes the device's context current on this thread, and restores the previous one at the end.
class CurrentContext {
 public:
  explicit CurrentContext(const DeviceState& device) : device_(device) {
    check(device.driver, device.driver.cuCtxGetCurrent(&previous_), "cuCtxGetCurrent", device.name);
    if (previous_ != device.context) [[unlikely]]
      check(device.driver, device.driver.cuCtxSetCurrent(device.context), "cuCtxSetCurrent",
            device.name);
  }
  /// For destructors: ignores errors.
  CurrentContext(const DeviceState& device, std::nothrow_t) noexcept : device_(device) {
    device.driver.cuCtxGetCurrent(&previous_);
    if (previous_ != device.context) device.driver.cuCtxSetCurrent(device.context);
  }
  ~CurrentContext() {
    if (previous_ != device_.context) [[unlikely]]
      device_.driver.cuCtxSetCurrent(previous_);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const DeviceState& device_;
  CUcontext previous_ = nullptr;
};

/// CurrentContext for destructors: does not throw, and also works during captures.
class CurrentContextNoThrow {
 public:
  explicit CurrentContextNoThrow(const DeviceState& device) noexcept
      : relaxed_(device.driver), current_(device, std::nothrow) {}

 private:
  const CaptureModeGuard relaxed_;
  const CurrentContext current_;
};

struct StreamState {
  StreamState(DeviceState& device, CUstream handle, bool is_owned)
      : device(device),
        handle(handle),
        is_owned(is_owned),
        id(is_owned ? next_id() : wrapped_stream_id(device, handle)) {}
  ~StreamState();
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  DeviceState& device;
  CUstream handle;
  bool is_owned;
  /// Unique among the streams of a device, and never 0. Handles are not unique, because drivers
  /// reuse those of destroyed streams. Wrappers of one stream share its id if the driver has
  /// cuStreamGetId (CUDA 12.0). A wrapper of a stream that sinter owns has another id than its
  /// owner. Only the owner is sure to exist when the end of the stream's work must be recorded.
  const std::uint64_t id;

 private:
  static std::uint64_t next_id();
  static std::uint64_t wrapped_stream_id(const DeviceState& device, CUstream handle);
};

struct EventState {
  explicit EventState(DeviceState& device) : device(device) {}
  /// Creates the event. `purpose` describes it in errors. Throws DriverError.
  EventState(DeviceState& device, unsigned flags, std::string_view purpose);
  ~EventState();
  EventState(const EventState&) = delete;
  EventState& operator=(const EventState&) = delete;

  DeviceState& device;
  CUevent handle = nullptr;
  /// True if an Event recorded this last on a stream that was being captured. Then there is no
  /// point in time to wait for, and a query to the driver would make the capture invalid.
  std::atomic<bool> is_captured = false;
  /// True if it could not be recorded after the work that it should mark.
  std::atomic<bool> has_record_failed = false;
};

struct ExternalMemory;  // runtime/device/external_memory.h

struct ArrayData {
  DeviceState* device = nullptr;
  CUdeviceptr pointer = 0;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;  ///< from the start of the first element to the end of the last one
  bool is_row_major = true;
  bool is_read_only = false;
  std::uint64_t id = 0;                        ///< unique among the Arrays of the process
  std::shared_ptr<const DeviceMemory> memory;  ///< null: wrapped or imported memory
  /// Imported memory, which returns to its library after the last Array; null: other memory.
  std::shared_ptr<const ExternalMemory> external;
  /// True once the driver has confirmed the range and device of wrapped or imported memory.
  mutable std::atomic<bool> is_verified = false;
};

struct PinnedMemory {
  PinnedMemory(DeviceState& device, DType dtype, std::vector<std::int64_t> shape);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  DeviceState& device;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  void* pointer = nullptr;
};

/// Creates the data of an Array; without strides it is row-major. Throws UserError, starting with
/// `what`, if shape or strides are invalid.
std::shared_ptr<ArrayData> make_array_data(std::string_view what, DeviceState* device,
                                           CUdeviceptr pointer, DType dtype,
                                           std::span<const std::int64_t> shape,
                                           std::span<const std::int64_t> strides);
Array array_of(std::shared_ptr<const ArrayData> data);

/// A new array with `strides`; without them it is row-major. Its elements are `elements`, which are
/// in row-major order, and gaps are 0. The copy is made in the order of `stream`. Throws UserError
/// if shape or strides are invalid.
Array upload_strided(const Stream& stream, const void* elements, DType dtype, Sizes shape,
                     Sizes strides);

/// The number of elements of `shape`. Throws UserError, starting with `what`, if an extent is
/// negative, the rank is too high, or the bytes do not fit in 63 bits.
std::int64_t checked_elements(std::string_view what, DType dtype,
                              std::span<const std::int64_t> shape);
/// Device::empty. `stream` is the StreamState::id of the first stream to use the array; 0: unknown.
Array empty_array(DeviceState& device, DType dtype, Sizes shape, Sizes strides,
                  std::uint64_t stream);
/// `[2048, 4096]`
std::string to_string(std::span<const std::int64_t> sizes);
/// `f32[2048, 4096]`
std::string type_text(const ArrayData& array);

/// For destructors: reports a failed call on stderr, unless the process is ending.
void log_failed_release(const Driver& driver, CUresult result, std::string_view call) noexcept;

}  // namespace sinter
