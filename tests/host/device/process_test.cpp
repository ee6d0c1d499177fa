// The time limit of child processes.
#include "runtime/support/process.h"

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sinter::test::process_test {
namespace {

using namespace std::chrono_literals;

ProcessResult run_for(const char* seconds, std::chrono::milliseconds limit) {
  const std::array<std::string, 2> words = {find_program("sleep"), seconds};
  return run_process(words, "", limit);
}

TEST(ProcessTest, KillsProcessesPastTheTimeLimit) {
  const ProcessResult result = run_for("100", 100ms);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
}

TEST(ProcessTest, DoesNotCountSuspendedTime) {
  const pid_t waiting = fork();
  if (waiting == 0) _exit(run_for("4", 3000ms).timed_out ? 1 : 0);
  std::this_thread::sleep_for(200ms);
  ASSERT_EQ(kill(waiting, SIGSTOP), 0);
  std::this_thread::sleep_for(3300ms);
  ASSERT_EQ(kill(waiting, SIGCONT), 0);
  int status = -1;
  ASSERT_EQ(waitpid(waiting, &status, 0), waiting);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sinter::test::process_test
