#include "runtime/driver/driver.h"

#include "runtime/support/fork_guard.h"
#include "sinter/error.h"

#include <fmt/format.h>

namespace sinter {

std::string describe(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName) driver.cuGetErrorName(result, &name);
  if (driver.cuGetErrorString) driver.cuGetErrorString(result, &text);
  if (!name) return fmt::format("error {}", static_cast<unsigned>(result));
  return text ? fmt::format("{} ({})", name, text) : name;
}

namespace {

/// Advice for errors that a stream capture causes; empty for other errors.
std::string_view advice_on_capture(CUresult result) {
  switch (result) {
    case CUDA_ERROR_LOSSY_QUERY:
      return "; the stream waits only for part of a kernel (programmatic dependent launch): put an "
             "empty kernel, or a wait for an ordinary event, before this";
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
      return "; a stream is being captured: do this before the capture begins or after it ends";
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
      return "; an earlier error made the capture invalid: end it and begin a new one";
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
      return "; a capture can wait only for its own work: wait for other work before the capture "
             "begins";
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
      return "; the default stream waits for a stream that is being captured: use another stream "
             "than the default stream";
    case CUDA_ERROR_CAPTURED_EVENT:
      return "; the event was recorded in a capture, which runs nothing: wait for the stream that "
             "its CUDA Graph is launched on";
    default: return "";
  }
}

}  // namespace

void throw_driver_error(const Driver& driver, CUresult result, std::string_view call,
                        std::string_view context) {
  std::string message = fmt::format("{} failed on the {} device", call, driver.name);
  if (!context.empty()) message += fmt::format(" for {}", context);
  message += ": " + describe(driver, result);
  if (const std::string more = driver.last_error ? driver.last_error() : ""; !more.empty())
    message += ": " + more;
  else if (is_forked())
    message += fmt::format(": {}", kForkedError);
  message += advice_on_capture(result);
  throw DriverError(message, static_cast<int>(result));
}

}  // namespace sinter
