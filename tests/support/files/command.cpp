#include "tests/support/files/command.h"

#include "runtime/support/process.h"

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace sinter::test {

std::filesystem::path command_path() {
  constexpr std::string_view kCommand = SINTER_COMMAND;
  return kCommand.empty() ? std::filesystem::path() : std::filesystem::absolute(kCommand);
}

CommandResult run_command(const std::string& line, const std::filesystem::path& folder,
                          CommandNvrtc nvrtc) {
  std::string script =
      "unset SINTER_DUMP SINTER_SKIP SINTER_TUNE SINTER_DEBUG SINTER_TRACE\nexport "
      "SINTER_CACHE=off\n";
  if (nvrtc == CommandNvrtc::none) script += "export SINTER_NVRTC=/no/libnvrtc.so\n";
  // Standard error comes last, so that buffers do not decide the order.
  script += "sinter() { '" + command_path().string() + "' \"$@\"; }\n" +
            "errors=$(mktemp)\n"
            "{ " +
            line +
            "\n} 2>\"$errors\"\n"
            "status=$?\ncat \"$errors\"\nrm -f \"$errors\"\nexit $status\n";
  const std::vector<std::string> words = {"/bin/sh", "-c", script};
  const ProcessResult result = run_process(words, folder.string(), std::chrono::minutes(5));
  return {.exit_code = result.exit_code, .output = result.output};
}

}  // namespace sinter::test
