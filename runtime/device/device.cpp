#include "sinter/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <mutex>

#include "runtime/device/device_state.h"
#include "runtime/device/nearest_target.h"
#include "runtime/device/staging.h"
#include "runtime/driver/cuda_driver.h"
#include "runtime/driver/deferred_release.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/logging/trace.h"
#include "runtime/support/fork_guard.h"
#include "runtime/support/options_table.h"
#include "sinter/error.h"

namespace sinter {

NearestTarget nearest_target(std::string_view device_name, std::string_view arch) {
  std::string words(device_name);
  for (char& c : words) c = c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(c));
  NearestTarget nearest{.target = &known_targets()[0]};
  int similarity = 0;
  for (const Target& known : known_targets()) {
    if (known.arch != arch) continue;
    const bool is_named = words.find(known.name) != std::string::npos;
    const int points = 1 + (is_named ? static_cast<int>(known.name.size()) : 0);
    if (points > similarity) nearest = {.target = &known, .is_named = is_named};
    similarity = std::max(similarity, points);
  }
  return nearest;
}

namespace {

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver, driver.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute",
        [&] { return fmt::format("attribute {} of device {}", static_cast<int>(which), device); });
  return value;
}

/// The target of a GPU: what is known of its kind, corrected by what the driver says.
Target cuda_target(const Driver& driver, CUdevice device, std::string_view name,
                   std::string_view arch) {
  Target target = *nearest_target(name, arch).target;
  target.name = name;
  target.arch = arch;
  target.compute_capability =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  target.sm_count = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  target.registers_per_sm =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  target.max_threads_per_sm =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  target.max_blocks_per_sm =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  target.shared_per_sm =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  target.shared_per_block_opt_in =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  target.l2_bytes = attribute(driver, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  return target;
}

std::string arch_of(const Driver& driver, CUdevice device) {
  return fmt::format("sm_{}{}",
                     attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                     attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

/// How much idle memory it keeps at first. Other libraries of the process want some, too; and on
/// the host device what is given back is closed, so that what still touches it is found.
std::int64_t idle_bytes_of(const DeviceState& device) {
  const std::int64_t asked = with_environment({}).idle_bytes;
  if (asked >= 0 || device.is_host) return std::max<std::int64_t>(asked, 0);
  std::size_t total = 0;
  check(device.driver, device.driver.cuDeviceTotalMem(&total, device.handle), "cuDeviceTotalMem",
        device.name);
  return static_cast<std::int64_t>(total / 8);
}

/// The devices of a driver, each of which is opened when it is first asked for: a context takes
/// memory of its GPU. Never destroyed: Arrays in static variables may give memory back after main
/// has ended.
class DeviceList {
 public:
  /// `driver`: null where there is none.
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
  const CaptureModeGuard relaxed(driver);  // the caller may be capturing with other libraries
  check(driver, driver.cuDeviceGet(&handle, ordinal), "cuDeviceGet",
        [&] { return fmt::format("device {}", ordinal); });
  std::array<char, 256> text{};
  check(driver, driver.cuDeviceGetName(text.data(), text.size(), handle), "cuDeviceGetName",
        [&] { return fmt::format("device {}", ordinal); });
  name = text.data();
  check(driver, driver.cuDevicePrimaryCtxRetain(&context, handle), "cuDevicePrimaryCtxRetain",
        [&] { return fmt::format("device {} ({})", ordinal, name); });
  // The host device runs the schedules of a real GPU.
  arch = is_host ? std::string(known_targets()[0].arch) : arch_of(driver, handle);
  target = is_host ? known_targets()[0] : cuda_target(driver, handle, name, arch);
  memory_pool = std::make_unique<MemoryPool>(*this);
  memory_pool->keep_at_most(idle_bytes_of(*this));
  staging = std::make_unique<Staging>(*this);
  Trace::find_tool();
}

DeviceState::~DeviceState() = default;

void CurrentContext::change() {
  check(device_.driver, device_.driver.cuCtxSetCurrent(device_.context), "cuCtxSetCurrent",
        device_.name);
  changed_ = true;
}

void log_failed_release(const Driver& driver, CUresult result, std::string_view call) noexcept {
  constexpr auto kDeinitialized = static_cast<CUresult>(4);  // the process is ending
  // The memory of a forked process is a copy: what the device has is still its parent's.
  if (result == CUDA_SUCCESS || result == kDeinitialized || is_forked()) return;
  const char* name = nullptr;  // in words that take no memory: none may be the reason
  driver.cuGetErrorName(result, &name);
  std::fprintf(stderr, "sinter: %.*s failed while something was released: %s (error %u)\n",
               static_cast<int>(call.size()), call.data(), name ? name : "an unknown error",
               static_cast<unsigned>(result));
}

std::string in_words(const DeviceState& device) {
  return fmt::format("{} ({}:{})", device.name, device.driver.name, device.ordinal);
}

std::string_view Device::name() const { return state_->name; }
std::string_view Device::arch() const { return state_->arch; }
bool Device::is_host() const { return state_->is_host; }
int Device::ordinal() const { return state_->ordinal; }

void Device::synchronize() const {
  run_deferred_releases();
  DeferredReleases deferred;  // what uses it is on its way by now
  const CurrentContext current(*state_);
  const CaptureModeGuard relaxed(state_->driver);
  check(state_->driver, state_->driver.cuCtxSynchronize(), "cuCtxSynchronize",
        [&] { return state_->name + kOfEarlierWork; });
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
