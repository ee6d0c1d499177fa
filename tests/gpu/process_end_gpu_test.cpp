// Objects in static variables that are destroyed after the driver has ended, on a GPU.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sinter/sinter.h"
#include "tests/support/doubles/stream_capture.h"
#include "tests/support/files/command.h"
#include "tests/support/run/list_runs.h"

namespace sinter::test::process_end_gpu_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kChild = "SINTER_TEST_KEEPS_OBJECTS";

/// An object of each kind that releases something of the driver.
struct Objects {
  explicit Objects(const Device& device)
      : stream(device.stream()),
        event(device.event()),
        array(device.empty(f32, {1000})),
        pinned(device.pinned(f32, {1000})),
        lists(device),
        context(lists.executable().context()) {
    device.upload(array, std::vector<float>(1000, 1), stream);
    event.record(stream);
    for (std::size_t i = 0; i < 3; ++i) {
      lists.add(static_cast<float>(i));
      lists.run(i, context, stream, /*as_graph=*/i == 1);
    }
    // Never destroyed: the graph of a user ends with the driver. It keeps a captured run.
    const auto& captured = *new UserGraph(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
      lists.run(2, context, stream, /*as_graph=*/false);
    });
    captured.launch(stream);
  }

  Stream stream;
  Event event;
  Array array;
  PinnedArray pinned;
  ListRuns lists;
  Context context;
};

/// Ends the process while objects are alive. The variable is older than the driver, so the driver
/// ends before it is destroyed.
[[noreturn]] void end_with_objects() {
  static std::optional<Objects> objects;
  objects.emplace(default_device());
  std::printf("objects on %s\n", std::string(default_device().name()).c_str());
  std::exit(0);
}

TEST(ProcessEndGpu, ObjectsMayOutliveTheDriver) {
  if (std::getenv(kChild)) end_with_objects();
  if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const bool is_virtual = default_device().name().starts_with("virtual GPU");
  const CommandResult child = run_command(
      fmt::format("{}=1 {} '{}' --gtest_filter=ProcessEndGpu.ObjectsMayOutliveTheDriver", kChild,
                  is_virtual ? "SINTER_PTX=on" : "", program),
      std::filesystem::temp_directory_path(), CommandNvrtc::machine);
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_THAT(child.output, HasSubstr("objects on " + std::string(default_device().name())));
  EXPECT_THAT(child.output, Not(HasSubstr("sinter: "))) << "a release was reported as failed";
}

}  // namespace
}  // namespace sinter::test::process_end_gpu_test
