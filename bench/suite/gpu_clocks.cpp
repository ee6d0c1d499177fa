// Reads clocks and the driver version from NVML, which is loaded at run time.
#include "bench/suite/gpu_clocks.h"

#include <dlfcn.h>

namespace sinter::suite {

namespace {

/// The function `name` of NVML. NVML functions return 0 on success.
template <class... Parameters>
auto function(void* library, const char* name) {
  return reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name));
}

constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;

unsigned clock_mhz(void* library, void* device, int kind) {
  unsigned mhz = 0;
  const auto get = function<void*, int, unsigned*>(library, "nvmlDeviceGetClockInfo");
  return get && get(device, kind, &mhz) == 0 ? mhz : 0;
}

}  // namespace

Nvml::Nvml(int ordinal) : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) return;
  const auto init = function<>(library_, "nvmlInit_v2");
  const auto find = function<unsigned, void**>(library_, "nvmlDeviceGetHandleByIndex_v2");
  if (!init || !find || init() != 0 || find(static_cast<unsigned>(ordinal), &device_) != 0)
    device_ = nullptr;
}

Clocks Nvml::clocks() const {
  if (!device_) return {};
  return {.sm_mhz = clock_mhz(library_, device_, kSmClock),
          .memory_mhz = clock_mhz(library_, device_, kMemoryClock)};
}

std::string Nvml::driver_version() const {
  char text[96] = "";
  if (!device_) return text;
  const auto get = function<char*, unsigned>(library_, "nvmlSystemGetDriverVersion");
  return get && get(text, sizeof text) == 0 ? text : "";
}

}  // namespace sinter::suite
