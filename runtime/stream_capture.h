// Streams that the caller captures.
#pragma once

#include <string_view>

#include "runtime/device_state.h"

namespace sinter {

/// Whether what is put on the stream becomes part of a CUDA Graph of the caller's. Throws UserError
/// where an error has made the capture invalid, starting with `what`.
inline bool is_captured(std::string_view what, const StreamState& stream);
/// Throws UserError, starting with `what`, if the stream is being captured: what is on it does not
/// run before the graph is launched, and waiting for it would make the capture invalid.
void check_can_wait(std::string_view what, const StreamState& stream);

[[noreturn]] void throw_invalid_capture(std::string_view what);

inline bool is_captured(std::string_view what, const StreamState& stream) {
  const Driver& driver = stream.device.driver;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver, driver.cuStreamIsCapturing(stream.handle, &status), "cuStreamIsCapturing", what);
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) [[likely]]
    return false;
  if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) throw_invalid_capture(what);
  return true;
}

}  // namespace sinter
