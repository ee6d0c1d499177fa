#include "runtime/driver/cuda_driver.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/driver/driver_advice.h"
#include "runtime/support/library_file.h"

namespace sinter {
namespace {

constexpr const char* kSystemDriver = "libcuda.so.1";

using GetProcAddress = CUresult (*)(const char* symbol, void** address, int version,
                                    unsigned long long flags,
                                    CUdriverProcAddressQueryResult* found);

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// The CUDA version of an opened driver library. 0 if it does not report one; `problem` says why.
int version_of(void* library, std::string& problem) {
  CUresult (*get_version)(int*) = nullptr;
  if (!find_symbol(library, "cuDriverGetVersion", get_version)) {
    problem = "it has no cuDriverGetVersion";
    return 0;
  }
  int version = 0;
  const CUresult result = get_version(&version);
  if (result == CUDA_SUCCESS && version > 0) return version;
  problem = fmt::format("cuDriverGetVersion says error {}", static_cast<unsigned>(result));
  return 0;
}

/// True for the results of cuGetProcAddress that mean that the driver lacks the function. Version 2
/// gives success and a null pointer. A version above that of the driver is an invalid value.
bool is_lack(CUresult result) {
  return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_FOUND ||
         result == CUDA_ERROR_INVALID_VALUE;
}

/// Fills the table. Returns the problem if a required entry is missing; else empty.
std::string fill_driver(Driver& driver, GetProcAddress get_proc_address) {
  for (const DriverSymbol& symbol : kDriverSymbols) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult result =
        get_proc_address(symbol.name, &address, symbol.version, /*flags=*/0, &found);
    if (result != CUDA_SUCCESS || found != CU_GET_PROC_ADDRESS_SUCCESS) address = nullptr;
    if (!is_lack(result) && symbol.need == Need::Required)
      return fmt::format("does not give the address of {}: cuGetProcAddress says error {}{}",
                         symbol.name, static_cast<unsigned>(result),
                         advice_on(result, /*is_host=*/false));
    if (!address && symbol.need == Need::Required)
      return fmt::format("has no {} of CUDA {}; reinstall the NVIDIA driver", symbol.name,
                         version_text(symbol.version));
    std::memcpy(reinterpret_cast<char*>(&driver) + symbol.offset, &address, sizeof(address));
  }
  return {};
}

/// Initialises the driver and looks for a device. Returns the problem, or empty.
std::string start_driver(const Driver& driver) {
  const auto fails = [&](std::string_view call, CUresult result) {
    return fmt::format("{} says {}{}", call, describe(driver, result),
                       advice_on(result, /*is_host=*/false));
  };
  if (const CUresult result = driver.cuInit(0); result != CUDA_SUCCESS)
    return fails("does not start: cuInit", result);
  int count = 0;
  if (const CUresult result = driver.cuDeviceGetCount(&count); result != CUDA_SUCCESS)
    return fails("does not list its devices: cuDeviceGetCount", result);
  return count == 0 ? "finds no CUDA device" : "";
}

/// Libraries are never closed, so tables are never freed.
const Driver* keep_driver(std::unique_ptr<const Driver> driver) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<const Driver>>;
  const std::lock_guard lock(mutex);
  return kept->emplace_back(std::move(driver)).get();
}

}  // namespace

CudaDriver open_cuda_driver(const std::string& library) {
  const auto fails = [&](const std::string& why) {
    return CudaDriver{.reason = fmt::format("the CUDA driver {} {}", library, why)};
  };
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return fails(fmt::format("cannot be opened ({})", dlerror()));

  std::string problem;
  const int version = version_of(handle, problem);
  if (version == 0)
    return fails(
        fmt::format("does not report its version ({}); reinstall the NVIDIA driver", problem));
  GetProcAddress get_proc_address = nullptr;
  if (version < kMinimumCudaDriver || !find_symbol(handle, "cuGetProcAddress_v2", get_proc_address))
    return fails(fmt::format("is for CUDA {}, sinter needs {} or later; update the NVIDIA driver",
                             version_text(version), version_text(kMinimumCudaDriver)));

  auto driver = std::make_unique<Driver>();
  driver->name = "cuda";
  driver->version = version;
  if (const std::string why = fill_driver(*driver, get_proc_address); !why.empty())
    return fails(why);
  if (const std::string why = start_driver(*driver); !why.empty()) return fails(why);
  return {.driver = keep_driver(std::move(driver))};
}

const CudaDriver& cuda_driver() {
  // Never destroyed: a thread may still use it while the process ends.
  static const auto& driver = *new CudaDriver(open_cuda_driver(kSystemDriver));
  return driver;
}

int cuda_driver_version() {
  static const int version = [] {
    void* const library = dlopen(kSystemDriver, RTLD_NOW | RTLD_LOCAL);
    std::string problem;
    return library ? version_of(library, problem) : 0;
  }();
  return version;
}

}  // namespace sinter
