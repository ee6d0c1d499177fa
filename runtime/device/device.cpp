// Device: the list of devices, how each is opened, and the current context.
#include "sinter/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>

#include "runtime/device/device_state.h"
#include "runtime/device/gpu_target.h"
#include "runtime/device/staging.h"
#include "runtime/driver/cuda_driver.h"
#include "runtime/driver/deferred_release.h"
#include "runtime/driver/driver_advice.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/logging/trace.h"
#include "runtime/support/environment.h"
#include "runtime/support/fork_guard.h"
#include "runtime/support/options_table.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// The initial limit of idle memory. It leaves memory to other libraries in the process. It is 0 on
/// the host device, which blocks access to released memory, so that stray accesses are found.
std::int64_t idle_bytes_of(const DeviceState& device) {
  const std::int64_t requested = with_environment({}).idle_bytes;
  if (requested >= 0 || device.is_host) return std::max<std::int64_t>(requested, 0);
  std::size_t total = 0;
  check(device.driver, device.driver.cuDeviceTotalMem(&total, device.handle), "cuDeviceTotalMem",
        device.name);
  return static_cast<std::int64_t>(total / 8);
}

/// The target whose schedules the host device runs: that of SINTER_HOST_TARGET, or the CPU itself.
const Target& host_target() {
  const std::string name = environment_variable("SINTER_HOST_TARGET");
  if (name.empty()) return cpu_target();
  if (const Target* const target = find_target(name)) return *target;
  throw UserError(fmt::format("SINTER_HOST_TARGET is {}, but there is no such target; known are {}",
                              name, fmt::join(known_archs_and_names(), ", ")));
}

/// The devices of a driver. Each is opened at its first use, because a context takes memory of its
/// GPU. Never destroyed: Arrays in static variables may release memory after main has ended.
class DeviceList {
 public:
  /// `driver`: null if there is none.
  DeviceList(const Driver* driver, std::string_view what) : driver_(driver) {
    if (!driver) return;
    int count = 0;
    check(*driver, driver->cuInit(0), "cuInit", what);
    check(*driver, driver->cuDeviceGetCount(&count), "cuDeviceGetCount", what);
    states_.resize(static_cast<std::size_t>(count));
  }

  std::size_t size() const { return states_.size(); }
  bool has(int ordinal) const {
    return ordinal >= 0 && static_cast<std::size_t>(ordinal) < states_.size();
  }
  Device open(int ordinal) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<DeviceState>& state = states_[static_cast<std::size_t>(ordinal)];
    if (!state) state = std::make_unique<DeviceState>(*driver_, ordinal);
    return Device(state.get());
  }

 private:
  const Driver* driver_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceState>> states_;
};

DeviceList& cuda_devices() {
  static auto& list = *new DeviceList(cuda_driver().driver, "the list of GPUs");
  return list;
}

DeviceList& host_devices() {
  static auto& list = *new DeviceList(&host::host_driver(), "the list of host devices");
  return list;
}

}  // namespace

DeviceState::DeviceState(const Driver& driver, int ordinal)
    : driver(driver), ordinal(ordinal), is_host(driver.name == "host") {
  check(driver, driver.cuInit(0), "cuInit", "the first use of a GPU");
  guard_forks();
  const CaptureModeGuard relaxed(driver);  // another library may be capturing a stream
  check(driver, driver.cuDeviceGet(&handle, ordinal), "cuDeviceGet",
        [&] { return fmt::format("device {}", ordinal); });
  std::array<char, 256> text{};
  check(driver, driver.cuDeviceGetName(text.data(), text.size(), handle), "cuDeviceGetName",
        [&] { return fmt::format("device {}", ordinal); });
  name = text.data();
  check(driver, driver.cuDevicePrimaryCtxRetain(&context, handle), "cuDevicePrimaryCtxRetain",
        [&] { return fmt::format("device {} ({})", ordinal, name); });
  arch = is_host ? std::string(known_targets()[0].arch)
                 : fmt::format("sm_{}", compute_capability(driver, handle));
  target = is_host ? host_target() : gpu_target(*this);
  memory_pool = std::make_unique<MemoryPool>(*this);
  memory_pool->set_idle_limit(idle_bytes_of(*this));
  staging = std::make_unique<Staging>(*this);
  Trace::find_tool();
}

DeviceState::~DeviceState() = default;

void log_failed_release(const Driver& driver, CUresult result, std::string_view call) noexcept {
  // The process is ending, or another library has destroyed the context with everything in it.
  if (result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED) return;
  // In a forked process the handles are copies; the device's memory still belongs to the parent.
  if (result == CUDA_SUCCESS || is_forked()) return;
  // Every release fails after the loss of a device, so only the first one is worth a line.
  static std::atomic<bool> has_reported_loss = false;
  if (driver.name != "host" && loses_device(result) && has_reported_loss.exchange(true)) return;
  const char* name = nullptr;  // no allocation below: a lack of memory may be the reason
  driver.cuGetErrorName(result, &name);
  std::fprintf(stderr, "sinter: %.*s failed while something was released: %s (error %u)\n",
               static_cast<int>(call.size()), call.data(), name ? name : "an unknown error",
               static_cast<unsigned>(result));
}

std::string to_string(const DeviceState& device) {
  return fmt::format("{} ({}:{})", device.name, device.driver.name, device.ordinal);
}

std::string_view Device::name() const { return state_->name; }
std::string_view Device::arch() const { return state_->arch; }
bool Device::is_host() const { return state_->is_host; }
int Device::ordinal() const { return state_->ordinal; }

void Device::synchronize() const {
  run_deferred_releases();
  DeferredReleases deferred;  // the work that uses these objects is queued already
  const CurrentContext current(*state_);
  const CaptureModeGuard relaxed(state_->driver);
  check(state_->driver, state_->driver.cuCtxSynchronize(), "cuCtxSynchronize",
        [&] { return state_->name + kEarlierWorkSuffix; });
  deferred.release(state_);
}

void Device::trim() const {
  run_deferred_releases();
  state_->memory_pool->trim(0);
}

Device default_device() { return cuda_devices().size() == 0 ? host_device() : cuda_device(0); }

Device cuda_device(int ordinal) {
  DeviceList& list = cuda_devices();
  if (list.size() == 0)
    throw DriverError(
        fmt::format("there is no CUDA device: {}; use host_device() (sinter: --device host)",
                    cuda_driver().driver ? "the driver lists none" : cuda_driver().reason));
  if (!list.has(ordinal))
    throw UserError(fmt::format("cuda_device({}): the machine has {} CUDA device{}, counted from 0",
                                ordinal, list.size(), list.size() == 1 ? "" : "s"));
  return list.open(ordinal);
}

Device host_device(int ordinal) {
  DeviceList& list = host_devices();
  if (!list.has(ordinal))
    throw UserError(fmt::format("host_device({}): there are {} host devices, counted from 0",
                                ordinal, list.size()));
  return list.open(ordinal);
}

std::vector<Device> devices() {
  std::vector<Device> result;
  for (std::size_t i = 0; i < cuda_devices().size(); ++i)
    result.push_back(cuda_device(static_cast<int>(i)));
  result.push_back(host_device());
  return result;
}

}  // namespace sinter
