#include "runtime/driver/driver.h"

#include "runtime/driver/driver_advice.h"
#include "runtime/support/fork_guard.h"
#include "sinter/error.h"

#include <fmt/format.h>

namespace sinter {

std::string describe(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName) driver.cuGetErrorName(result, &name);
  if (driver.cuGetErrorString) driver.cuGetErrorString(result, &text);
  const auto code = static_cast<unsigned>(result);
  if (!name) return fmt::format("error {}", code);
  return text ? fmt::format("{} (error {}: {})", name, code, text)
              : fmt::format("{} (error {})", name, code);
}

bool is_image_unknown(CUresult result) {
  return result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
         result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

bool is_image_rejected(CUresult result) {
  return is_image_unknown(result) || result == CUDA_ERROR_INVALID_PTX ||
         result == CUDA_ERROR_INVALID_SOURCE || result == CUDA_ERROR_NOT_FOUND;
}

void throw_driver_error(const Driver& driver, CUresult result, std::string_view call,
                        std::string_view context) {
  std::string message = fmt::format("{} failed on the {} device", call, driver.name);
  if (!context.empty()) message += fmt::format(" for {}", context);
  message += ": " + describe(driver, result);
  if (const std::string more = driver.last_error ? driver.last_error() : ""; !more.empty())
    message += ": " + more;
  else if (is_forked())
    message += fmt::format(": {}", kForkedError);
  if (!is_forked()) message += advice_on(result, driver.name == "host");
  throw DriverError(message, static_cast<int>(result));
}

}  // namespace sinter
