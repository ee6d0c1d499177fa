#include "tools/sinter/output/streams.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace sinter::command {

void reopen_closed_streams() {
  // Input is opened for writing and output for reading, so that their use fails. Errors are
  // dropped.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF) open("/dev/null", kModes[stream]);
}

void log_line(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace sinter::command
