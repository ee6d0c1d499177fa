// Runs another program and waits for it.
#pragma once

#include <chrono>
#include <span>
#include <string>

namespace sinter {

struct ProcessResult {
  int exit_code = -1;      // 128 + the signal that ended it; -1 if it could not be started
  bool timed_out = false;  // it was killed, with its process group
  std::string output;      // stdout and stderr together, or why it could not be started
};

/// Runs `arguments`, the first of which is the program's path, in `folder` ("": the current one).
/// Time in which the machine is suspended or overloaded hardly counts towards `time_limit`.
ProcessResult run_process(std::span<const std::string> arguments, const std::string& folder,
                          std::chrono::milliseconds time_limit);

/// The path of an executable: `name` itself if it has a slash, else the first match on PATH. "" if
/// there is none.
std::string find_program(const std::string& name);

}  // namespace sinter
