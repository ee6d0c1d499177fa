#include "tools/sinter/commands/bench_suite.h"

#include "runtime/support/process.h"
#include "sinter/error.h"
#include "tools/sinter/arguments/arguments.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = "_bench";

fs::path own_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

/// Runs a program and returns its exit code, as a shell reports it.
int run_program(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error != 0)
    throw UserError(fmt::format("{} cannot be started: {}", words[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw UserError(fmt::format("{} cannot be waited for: {}", words[0], std::strerror(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Throws UsageError for a filter that matches no benchmark or is not a regular expression. Google
/// Benchmark succeeds with these filters and prints the problem in place of names.
void check_filter(const SuiteRequest& request, const std::string& program) {
  const std::vector<std::string> words = {program, "--benchmark_list_tests=true",
                                          "--benchmark_filter=" + request.filter};
  const ProcessResult list = run_process(words, "", std::chrono::minutes(1));
  for (const std::string_view complaint : {"Failed to match any benchmarks", "Could not compile"})
    if (list.output.find(complaint) != std::string::npos)
      throw UsageError(
          fmt::format("--filter {}: no benchmark of suite {} matches it; without "
                      "--filter all of them run",
                      request.filter, request.suite));
}

}  // namespace

std::vector<std::string> bench_suites() {
  std::vector<std::string> suites;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(own_folder(), error)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(kEnding) && name.size() > kEnding.size() &&
        access(entry.path().c_str(), X_OK) == 0)
      suites.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  std::ranges::sort(suites);
  return suites;
}

void run_suite(const SuiteRequest& request) {
  const std::vector<std::string> suites = bench_suites();
  if (std::ranges::count(suites, request.suite) == 0)
    throw UsageError(fmt::format(
        "there is neither a file {0} nor a suite of this name; {1}", request.suite,
        suites.empty() ? fmt::format("there are no suites in the command's folder: build {}_bench",
                                     request.suite)
                       : fmt::format("the suites are {}", fmt::join(suites, ", "))));
  std::vector<std::string> words = {own_folder() / (request.suite + std::string(kEnding))};
  // The suite that compares with peers does not use Google Benchmark.
  const bool is_own = request.suite == "suite";
  if (request.json) words.push_back(is_own ? "--json=-" : "--benchmark_format=json");
  if (!request.filter.empty())
    words.push_back((is_own ? "--only=" : "--benchmark_filter=") + request.filter);
  if (!is_own && !request.filter.empty()) check_filter(request, words[0]);
  std::fflush(stdout);
  if (const int code = run_program(words); code != 0)
    throw UserError(
        fmt::format("suite {} failed: {} ended with {}", request.suite, words[0], code));
}

}  // namespace sinter::command
