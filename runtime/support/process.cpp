#include "runtime/support/process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include <llvm/Support/Program.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/support/atomic_file.h"

namespace sinter {
namespace {

using Clock = std::chrono::steady_clock;

std::string read_all(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got =
        pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

/// The environment of this process with LC_ALL=C, so that messages are in English.
std::vector<char*> environment() {
  static char locale[] = "LC_ALL=C";
  std::vector<char*> result;
  for (char** entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("LC_ALL=")) result.push_back(*entry);
  result.push_back(locale);
  result.push_back(nullptr);
  return result;
}

/// Starts the program in a process group of its own; returns errno, 0 if it runs.
int start_process(std::span<const std::string> arguments, const std::string& folder, int output,
                  pid_t& process) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));  // POSIX: they are not modified
  pointers.push_back(nullptr);

  const std::vector<char*> variables = environment();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error =
      posix_spawn(&process, pointers[0], &actions, &attributes, pointers.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Waits for the process; false if the time limit was reached. Each poll counts at most
/// kMaxPollTime towards the limit, so that a suspended or overloaded machine causes no timeout.
constexpr Clock::duration kMaxPollTime = std::chrono::milliseconds(50);
bool wait_for(pid_t process, Clock::duration time_limit, int& status) {
  auto pause = std::chrono::microseconds(200);
  Clock::duration spent{};
  for (Clock::time_point last = Clock::now(); waitpid(process, &status, WNOHANG) == 0;) {
    if (spent > time_limit) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 5 / 4, std::chrono::microseconds(2000));
    const Clock::time_point now = Clock::now();
    spent += std::min(now - last, kMaxPollTime);
    last = now;
  }
  return true;
}

}  // namespace

ProcessResult run_process(std::span<const std::string> arguments, const std::string& folder,
                          std::chrono::milliseconds time_limit) {
  ProcessResult result;
  const File output(memfd_create("output", MFD_CLOEXEC));
  if (!output) {
    result.output = std::strerror(errno);
    return result;
  }
  pid_t process = 0;
  if (const int error = start_process(arguments, folder, output.descriptor(), process)) {
    result.output = std::strerror(error);
    return result;
  }
  int status = 0;
  if (!wait_for(process, time_limit, status)) {
    result.timed_out = true;
    kill(-process, SIGKILL);
    waitpid(process, &status, 0);
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.output = read_all(output.descriptor());
  return result;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name);
  return path ? *path : "";
}

}  // namespace sinter
