#include "runtime/stream_capture.h"

#include <fmt/format.h>

#include "sinter/error.h"

namespace sinter {

void throw_invalid_capture(std::string_view what) {
  throw UserError(
      fmt::format("{}: the stream is being captured, and an earlier error has made the capture "
                  "invalid; end it (cuStreamEndCapture) and begin anew",
                  what));
}

void check_can_wait(std::string_view what, const StreamState& stream) {
  const CurrentContext current(stream.device);
  if (is_captured(what, stream))
    throw UserError(
        fmt::format("{}: the stream is being captured, so what is on it does not run before its "
                    "CUDA Graph is launched; end the capture, launch the graph and wait for that, "
                    "or use another stream",
                    what));
}

}  // namespace sinter
