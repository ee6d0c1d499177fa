#include "runtime/debug_log.h"

#include <cstdio>

namespace sinter {

void tell_line(const Options& options, const std::string& line) {
  if (options.log) return options.log(line);
  const std::string whole = "sinter: " + line + "\n";  // one write: threads do not mix
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

}  // namespace sinter
