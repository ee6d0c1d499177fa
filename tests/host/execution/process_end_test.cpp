// A process that exits during background tuning: the tuning stops at its next step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "runtime/support/background_thread.h"
#include "sinter/counters.h"
#include "sinter/sinter.h"
#include "tests/support/files/command.h"

namespace sinter::process_end_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kChild = "SINTER_TEST_ENDS_EARLY";

/// Returns while the background thread is tuning. The tuning first waits for the stop request.
void end_early() {
  // Registered before the background thread exists, so that it runs after its end.
  std::atexit([] {
    std::printf("tunings at the end: %lld\n", static_cast<long long>(counters().tunings));
    std::fflush(stdout);
  });
  const auto has_begun = std::make_shared<std::promise<void>>();
  const auto log = [has_begun, here = std::this_thread::get_id(),
                    is_first = std::make_shared<bool>(true)](std::string_view) {
    if (std::this_thread::get_id() == here || !std::exchange(*is_first, false)) return;
    has_begun->set_value();
    const std::stop_token stop = BackgroundThread::process_wide().stop_token();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::printf("asked to stop: %s\n", stop.stop_requested() ? "yes" : "no");
  };
  Graph graph("softmax");
  const Extent rows = graph.extent("rows");
  graph.output("y", softmax(graph.input("x", f32, {rows, 96})));
  const Device device = host_device();
  // Never destroyed, as in programs that call `exit`, so tuning does not stop for lack of handles.
  static const auto& executable = *new Executable(compile(
      graph, device, {.log = log, .debug = 3, .optimize_host = false, .never_stall = true}));
  static auto& context = *new Context(executable.context());
  const Array x = device.empty(f32, {10, 96});
  const Outputs outputs = context.run(device.stream(), {{"x", x}});
  has_begun->get_future().wait();
}

TEST(ProcessEnd, StopsBackgroundTuning) {
  if (std::getenv(kChild)) return end_early();
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const test::CommandResult child = test::run_command(
      std::string(kChild) + "=1 '" + program + "' --gtest_filter=ProcessEnd.StopsBackgroundTuning",
      std::filesystem::temp_directory_path());
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_THAT(child.output, HasSubstr("asked to stop: yes"));
  EXPECT_THAT(child.output, HasSubstr("tunings at the end: 0"));
}

}  // namespace
}  // namespace sinter::process_end_test
