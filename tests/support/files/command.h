// Running the `sinter` command as a user does.
#pragma once

#include <filesystem>
#include <string>

namespace sinter::test {

struct CommandResult {
  int exit_code = -1;
  std::string output;  ///< standard output, then standard error
};

/// The command, absolute; empty if this build has none.
std::filesystem::path command_path();

/// What `line` does and says in a shell where `sinter` is the command, in `folder`: `sinter dump
/// add.sinter --stage graph`. The command sees none of sinter's environment variables but the NVRTC
/// of `nvrtc`: that of this machine, or a library that is not there; and that there is no disk
/// cache.
enum class CommandNvrtc { machine, none };
CommandResult run_command(const std::string& line, const std::filesystem::path& folder,
                          CommandNvrtc nvrtc = CommandNvrtc::none);

}  // namespace sinter::test
