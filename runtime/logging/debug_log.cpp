#include "runtime/logging/debug_log.h"

#include <fmt/format.h>

#include <cstdio>

#include "sinter/error.h"

namespace sinter {

void write_log_line(const Options& options, const std::string& line) {
  if (options.log) return options.log(line);
  const std::string whole = "sinter: " + line + "\n";  // one write: lines stay whole
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

void check_debug(const Options& options) {
  if (options.debug < 0 || options.debug > 4)
    throw UserError(fmt::format("options.debug is {}; expected 0, 1, 2, 3 or 4", options.debug));
}

}  // namespace sinter
