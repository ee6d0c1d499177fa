// What stands behind the handles Device, Stream, Event, Array and PinnedArray.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
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

class CompileService;
class Staging;
class TuningStore;

/// Ends the context of calls that tell of what was queued before them.
inline constexpr const char* kOfEarlierWork =
    ", where work that was queued before may be what failed";

/// A service that a higher room implements, created at its first use.
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
  /// For tests: as if the process had just started.
  void replace(std::shared_ptr<Service> service) { service_ = std::move(service); }

 private:
  mutable std::once_flag created_;
  mutable std::shared_ptr<Service> service_;
};

/// One device. Lives until the process ends, as everything that refers to it may.
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
  std::unique_ptr<MemoryPool> memory_pool;
  std::unique_ptr<Staging> staging;
};

/// `NVIDIA H200 (cuda:1)`: a machine may have several of one name.
std::string in_words(const DeviceState& device);

/// Makes the device's context current on this thread, and the former one again at the end.
class CurrentContext {
 public:
  explicit CurrentContext(const DeviceState& device) : device_(device) {
    check(device.driver, device.driver.cuCtxGetCurrent(&former_), "cuCtxGetCurrent", device.name);
    if (former_ != device.context) [[unlikely]]
      change();
  }
  ~CurrentContext() {
    if (changed_) device_.driver.cuCtxSetCurrent(former_);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  void change();

  const DeviceState& device_;
  CUcontext former_ = nullptr;
  bool changed_ = false;
};

struct StreamState {
  StreamState(DeviceState& device, CUstream handle, bool is_owned)
      : device(device),
        handle(handle),
        is_owned(is_owned),
        id(is_owned ? next_id() : id_of_other(device, handle)) {}
  ~StreamState();
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  DeviceState& device;
  CUstream handle;
  bool is_owned;
  /// No two streams of a device share it; never 0. Drivers give the handle of a stream that is gone
  /// to the next one. Wraps of one stream share it where the driver tells streams apart
  /// (CUDA 12.0); one of a stream of ours has another than that, since only ours is there when it
  /// is asked for its end.
  const std::uint64_t id;

 private:
  static std::uint64_t next_id();
  static std::uint64_t id_of_other(const DeviceState& device, CUstream handle);
};

struct EventState {
  EventState(DeviceState& device, CUevent handle) : device(device), handle(handle) {}
  ~EventState();
  EventState(const EventState&) = delete;
  EventState& operator=(const EventState&) = delete;

  DeviceState& device;
  CUevent handle;
  /// Recorded last by an Event on a stream that was being captured: there is no point in time that
  /// could be waited for, and a driver that is asked for it makes an error of the capture.
  std::atomic<bool> is_captured = false;
  /// It could not be recorded behind what it is to mark.
  std::atomic<bool> is_lost = false;
};

struct ExternalMemory;  // runtime/device/external_memory.h

struct ArrayData {
  DeviceState* device = nullptr;
  CUdeviceptr pointer = 0;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;  ///< from the first to the end of the last element
  bool is_row_major = true;
  bool is_read_only = false;
  std::uint64_t id = 0;                        ///< no two Arrays of a process share it
  std::shared_ptr<const DeviceMemory> memory;  ///< null: somebody else's
  /// Somebody else's that is given back with the last Array in it; null: it is not ours to give.
  std::shared_ptr<const ExternalMemory> foreign;
  /// True once the driver was asked whether somebody else's memory is what it is said to be.
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

/// What an Array is made from, checked: throws UserError, starting with `what`, where shape and
/// strides (none: row-major) cannot be.
std::shared_ptr<ArrayData> make_array_data(std::string_view what, DeviceState* device,
                                           CUdeviceptr pointer, DType dtype,
                                           std::span<const std::int64_t> shape,
                                           std::span<const std::int64_t> strides);
Array array_of(std::shared_ptr<const ArrayData> data);

/// Elements of `shape`; throws UserError, starting with `what`, where one is negative or the bytes
/// do not fit in 63 bits.
std::int64_t checked_elements(std::string_view what, DType dtype,
                              std::span<const std::int64_t> shape);
/// Device::empty for work on the stream with that StreamState::id first; 0: nobody knows which.
Array empty_array(DeviceState& device, DType dtype, Sizes shape, Sizes strides,
                  std::uint64_t stream);
/// `[2048, 4096]`
std::string to_string(std::span<const std::int64_t> sizes);
/// `f32[2048, 4096]`
std::string type_text(const ArrayData& array);

/// The same for destructors, which cannot throw, and may be called while streams are captured.
class ReleaseContext {
 public:
  explicit ReleaseContext(const DeviceState& device) noexcept
      : device_(device), relaxed_(device.driver) {
    device.driver.cuCtxGetCurrent(&former_);
    if (former_ != device.context) device.driver.cuCtxSetCurrent(device.context);
  }
  ~ReleaseContext() {
    if (former_ != device_.context) device_.driver.cuCtxSetCurrent(former_);
  }
  ReleaseContext(const ReleaseContext&) = delete;
  ReleaseContext& operator=(const ReleaseContext&) = delete;

 private:
  const DeviceState& device_;
  const CaptureModeGuard relaxed_;
  CUcontext former_ = nullptr;
};

/// For destructors: says on stderr what went wrong, unless the process is ending anyway.
void log_failed_release(const Driver& driver, CUresult result, std::string_view call) noexcept;

}  // namespace sinter
