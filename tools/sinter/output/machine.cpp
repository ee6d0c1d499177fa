#include "tools/sinter/output/machine.h"

#include "runtime/cache/disk_cache.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/device/device_state.h"
#include "runtime/driver/cuda_driver.h"
#include "runtime/support/options_table.h"
#include "sinter/error.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace sinter::command {

namespace {

std::string version_words(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// The number in `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release …`:
/// its first word of digits and points. Empty where the system has no such file.
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos)
      return word;
  return {};
}

std::string remedy_of_driver(const std::string& why) {
  if (why.find("cannot be opened") != why.npos)
    return "install the NVIDIA driver (Debian: apt install nvidia-driver); in a container, start "
           "it with its GPUs (docker run --gpus all)";
  if (why.find("no CUDA device") != why.npos || why.find("cuInit") != why.npos)
    return "see what nvidia-smi says, and that CUDA_VISIBLE_DEVICES hides no GPU";
  return {};  // the reason says it
}

DeviceFacts facts_of(const Device& device) {
  const DeviceState& state = *device.state();
  DeviceFacts facts{.kind = device.is_host() ? "host" : "cuda",
                    .ordinal = device.ordinal(),
                    .name = std::string(device.name()),
                    .arch = std::string(device.arch())};
  if (device.is_host()) {
    facts.memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
    return facts;
  }
  std::size_t bytes = 0;
  check(state.driver, state.driver.cuDeviceTotalMem(&bytes, state.handle), "cuDeviceTotalMem",
        state.name);
  facts.memory_bytes = static_cast<std::int64_t>(bytes);
  facts.sm_count = state.target.sm_count;
  return facts;
}

}  // namespace

CacheOptions cache_options() { return with_environment({}).cache; }

Part find_driver() {
  const CudaDriver& opened = cuda_driver();
  Part part{.name = "cuda driver", .found = {}, .why = opened.reason, .remedy = {}};
  if (!opened.driver) {
    part.remedy = remedy_of_driver(part.why);
    return part;
  }
  part.found = "CUDA " + version_words(opened.driver->version);
  if (const std::string module = kernel_module_version(); !module.empty())
    part.found += ", driver " + module;
  return part;
}

Part find_nvrtc() {
  const OpenedNvrtc& opened = nvrtc();
  Part part{.name = "nvrtc", .found = {}, .why = opened.reason, .remedy = {}};
  if (!opened.nvrtc) {
    part.remedy =
        "the package cuda-nvrtc-13-0 of NVIDIA's repository has it, and so has the Python wheel "
        "nvidia-cuda-nvrtc-cu12: set SINTER_NVRTC to nvidia/cuda_nvrtc/lib/libnvrtc.so.12 in its "
        "site-packages";
    return part;
  }
  const std::vector<int>& archs = opened.nvrtc->architectures();
  part.found = fmt::format("{}, {}", version_words(opened.nvrtc->version()), opened.nvrtc->path());
  if (!archs.empty())
    part.found += fmt::format(", compiles for sm_{} to sm_{}", archs.front(), archs.back());
  return part;
}

Part find_compiler() {
  Part part{.name = "c++ compiler", .found = {}, .why = {}, .remedy = {}};
  try {
    const std::string path = find_host_compiler();
    part.found = fmt::format("{}, {}", HostCompiler({.command = path, .name = {}}).name(), path);
  } catch (const CompileError& error) {
    part.why = error.what();  // it also says what to do
  }
  return part;
}

Part find_cache() {
  Part part{.name = "disk cache", .found = {}, .why = {}, .remedy = {}};
  const CacheOptions options = cache_options();
  if (options.mode == CacheMode::off) {
    part.why = "it was turned off";
    part.remedy = "set SINTER_CACHE to read_write, or unset it";
    return part;
  }
  const DiskCache cache(options);
  part.why = cache.why_off();  // it also says what to do
  if (cache.is_on())
    part.found = fmt::format("{}{}", cache.counters().directory,
                             cache.can_store() ? "" : ", which is read and not written");
  return part;
}

DeviceList list_devices() {
  DeviceList list;
  const Driver* const driver = cuda_driver().driver;
  int count = 0;
  if (driver && driver->cuDeviceGetCount(&count) != cuda::CUDA_SUCCESS) count = 0;
  for (int i = 0; i < count; ++i) {
    try {
      list.devices.push_back(facts_of(cuda_device(i)));
    } catch (const std::exception& error) {
      list.broken.push_back({.name = fmt::format("cuda:{}", i),
                             .found = {},
                             .why = error.what(),
                             .remedy = "see what nvidia-smi says of it"});
    }
  }
  list.devices.push_back(facts_of(host_device()));
  return list;
}

}  // namespace sinter::command
