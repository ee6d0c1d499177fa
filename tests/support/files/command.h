// Runs the `sinter` command as a user does.
#pragma once

#include <filesystem>
#include <string>

namespace sinter::test {

struct CommandResult {
  int exit_code = -1;
  std::string output;  ///< standard output, then standard error
};

/// The absolute path of the command; empty if this build has none.
std::filesystem::path command_path();

/// The NVRTC of a command: this machine's, or a library that does not exist.
enum class CommandNvrtc { machine, none };
/// Runs `line`, such as `sinter dump add.sinter --stage graph`, by a shell in `folder`. Unsets the
/// environment variables of sinter that change its output, and turns the disk cache off.
CommandResult run_command(const std::string& line, const std::filesystem::path& folder,
                          CommandNvrtc nvrtc = CommandNvrtc::none);

}  // namespace sinter::test
