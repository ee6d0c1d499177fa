// Processes that are forked after a device was opened: calls fail with an error, and nothing hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/support/background_thread.h"
#include "runtime/support/fork_guard.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"
#include "tests/support/run/run.h"

namespace sinter::fork_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Graph doubled() {
  Graph graph("doubled");
  graph.output("y", graph.input("x", f32, {100}) * 2);
  return graph;
}

/// Runs `task` in a forked child process and returns its result.
std::string in_child(const std::function<std::string()>& task) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // kills a child that hangs
    const std::string output = task();
    const bool is_written = write(ends[1], output.data(), output.size()) >= 0;
    _exit(is_written ? 0 : 1);
  }
  close(ends[1]);
  std::string output;
  char part[512];
  for (ssize_t bytes = 0; (bytes = read(ends[0], part, sizeof part)) > 0;)
    output.append(part, static_cast<std::size_t>(bytes));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? output : "ended with status " + std::to_string(status) + ": " + output;
}

TEST(Fork, CallsFailInTheChildAndWorkInTheParent) {
  const Device device = host_device();
  const Stream stream = device.stream();
  const Executable executable = compile(doubled(), device, {.tune = Tune::off});
  Context context = executable.context();
  const Array x = device.empty(f32, {100});
  device.upload(x, std::vector<float>(100, 21.0F), stream);
  const std::string output = in_child([&] {
    // Releases in the child must not wait for threads of the parent.
    {
      Context another = executable.context();
      const Array copy = x;
    }
    return test::error_of<DriverError>([&] {
             auto y = context.run(stream, {{"x", x}});
           }) +
           "\n" + test::error_of<DriverError>([&] { device.empty(f32, {10}); }) + "\n" +
           test::error_of<DriverError>([&] { device.synchronize(); });
  });
  EXPECT_THAT(output, AllOf(HasSubstr("this process was forked after a device had been opened"),
                            HasSubstr("open devices only in the child")));
  // The parent continues.
  const Outputs outputs = context.run(stream, {{"x", x}});
  EXPECT_EQ(device.download<float>(outputs[0], stream)[99], 42.0F);
  EXPECT_FALSE(is_forked());
}

int child_status = 0;  ///< exit status of the child in the next test
bool is_child = false;

/// Registered before all handlers of sinter, so that it runs last. It skips the leak check of
/// sanitizers, which fails in a forked child of a process with threads.
const int registered = std::atexit([] {
  if (is_child) _exit(child_status);
});

/// A child that calls `exit` runs the exit handlers of its parent.
TEST(Fork, AChildExitsAlthoughItsParentHasABackgroundThread) {
  ASSERT_EQ(registered, 0);
  BackgroundThread::process_wide().add([] {});
  BackgroundThread::process_wide().wait();
  host_device();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // kills a child that hangs
    is_child = true;
    child_status = 7;
    std::exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace sinter::fork_test
