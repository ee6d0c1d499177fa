// The `sinter` command: works with graphs in text form.
//
// Exit codes: 0 success; 1 failure (an invalid graph, a kernel that does not compile, a result
// outside its error bounds); 2 usage error.
#include "sinter/error.h"
#include "tools/sinter/arguments/options.h"
#include "tools/sinter/arguments/usage.h"
#include "tools/sinter/commands/command.h"
#include "tools/sinter/output/streams.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace sinter::command {

namespace {

constexpr int kWorked = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr const char* kNoOutput = "the output cannot be written";

/// In the order of the help.
// clang-format off
constexpr Declare* kCommands[] = {
    declare_import,
    declare_quantize,
    declare_dump,
    declare_run,
    declare_profile,
    declare_explain,
    declare_corpus,
    declare_tune,
    declare_bench,
    declare_compile,
    declare_ops,
    declare_cache,
    declare_devices,
    declare_version,
    declare_completion,
    declare_manual,
};
// clang-format on

int complain(const std::exception& error, int code) {
  log_line(fmt::format("sinter: {}\n", error.what()));
  return code;
}

/// Runs the command, and turns exceptions into a message and an exit code.
int run_command(const Action& command) {
  try {
    const bool worked = command();
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw UserError(kNoOutput);
    return worked ? kWorked : kFailed;
  } catch (const UsageError& error) {
    return complain(error, kUsage);
  } catch (const TextFailure& error) {
    log_line(fmt::format("{}\n", error.what()));
    return kFailed;
  } catch (const std::bad_alloc&) {
    return complain(std::runtime_error("there is not enough memory"), kFailed);
  } catch (const std::exception& error) {
    if (std::ferror(stdout)) return complain(UserError(kNoOutput), kFailed);
    return complain(error, kFailed);
  }
}

int parse_and_run(int count, char** words) {
  CLI::App app("sinter: fused kernels from graphs in text form", "sinter");
  app.set_version_flag("--version", "sinter " SINTER_VERSION);
  app.require_subcommand(1);
  app.footer(
      "sinter COMMAND --help shows the options of a command and an example.\n"
      "Exit codes: 0 success, 1 failure, 2 usage error.");
  Action action;
  for (Declare* const declare : kCommands) declare(app, action);
  refuse_empty_values(app);
  const std::vector<const char*> given(words + 1, words + std::max(count, 1));
  try {
    check_command(app, given);
    app.parse(count, words);
  } catch (const UsageError& error) {
    return complain(error, kUsage);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      return complain(UsageError(usage_text(app, error, given)), kUsage);
    app.exit(error);
    std::cout.flush();  // help is written there
    return std::cout ? kWorked : complain(UserError(kNoOutput), kFailed);
  }
  return run_command(action);
}

}  // namespace

}  // namespace sinter::command

int main(int count, char** words) {
  sinter::command::reopen_closed_streams();
  return sinter::command::parse_and_run(count, words);
}
