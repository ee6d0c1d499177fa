// Driver: the table of CUDA Driver API entry points through which all other code uses a device: a
// GPU (cuda_driver.h) or the host device (driver/host/host_driver.h).
#pragma once

#include "runtime/driver/cuda_abi.h"

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace sinter {

using namespace cuda;  // NVIDIA's names, for everything that includes this internal header

/// Entry points with the driver's own signatures and names, without version suffixes. The versions
/// are pinned in driver_symbols.def; an Optional one may be null.
struct Driver {
#define SYMBOL(NAME, VERSION, NEED, PARAMETERS) CUresult(*NAME) PARAMETERS = nullptr;
#include "runtime/driver/driver_symbols.def"

  std::string_view name;  // "cuda" or "host"
  int version = 0;        // as cuDriverGetVersion reports it: 12040 is CUDA 12.4
  /// Details of the last failure beyond its result code; null if the driver has none.
  std::string (*last_error)() = nullptr;
};

enum class Need { Required, Optional };

/// One row of driver_symbols.def as data.
struct DriverSymbol {
  const char* name;
  int version;  // the CUDA version that defines the signature
  Need need;
  std::size_t offset;  // of the function pointer in Driver
};

inline constexpr DriverSymbol kDriverSymbols[] = {
#define SYMBOL(NAME, VERSION, NEED, PARAMETERS) \
  {#NAME, VERSION, Need::NEED, offsetof(Driver, NAME)},
#include "runtime/driver/driver_symbols.def"
};

/// "CUDA_ERROR_OUT_OF_MEMORY (error 2: out of memory)", also for codes that are newer than cuda_abi.h.
std::string describe(const Driver& driver, CUresult result);

/// True for the errors of calls that a stream capture forbids.
inline bool is_of_captures(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

/// True if the driver does not understand an image. It may understand that of an older NVRTC.
bool is_image_unknown(CUresult result);
/// True if the driver rejected an image itself, rather than failing because of the device's state.
bool is_image_rejected(CUresult result);

/// Throws DriverError with the call, the code's name and text, the context, and advice.
[[noreturn]] void throw_driver_error(const Driver& driver, CUresult result, std::string_view call,
                                     std::string_view context);

/// Returns if `result` is success; else throws DriverError. `context` says what the call was for:
/// `check(driver, result, "cuLaunchKernelEx", "kernel softmax_1")`.
inline void check(const Driver& driver, CUresult result, std::string_view call,
                  std::string_view context) {
  if (result == CUDA_SUCCESS) [[likely]]
    return;
  throw_driver_error(driver, result, call, context);
}

/// The same with a context that is built only if the call failed.
inline void check(const Driver& driver, CUresult result, std::string_view call,
                  std::invocable auto context) {
  if (result == CUDA_SUCCESS) [[likely]]
    return;
  throw_driver_error(driver, result, call, context());
}

}  // namespace sinter
