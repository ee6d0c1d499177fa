// SINTER_DEBUG: each level logs everything of the lower levels and more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "sinter/sinter.h"
#include "tests/support/files/command.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/run/run.h"

namespace sinter::debug_log_test {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// The log lines of a program that is compiled and run once.
std::vector<std::string> lines_at(int debug) {
  std::vector<std::string> lines;
  Graph graph("logged");
  graph.output("y", graph.input("x", f32, {640}) * 2.0);
  Options options{.tune = Tune::quick, .debug = debug};
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  const Device device = host_device();
  const Executable executable = compile(graph, device, options, "model.cpp", 7);
  const Stream stream = device.stream();
  const Array x = device.empty(f32, {640});
  device.upload(x, std::vector<float>(640, 1), stream);
  (void)executable.context().run(stream, {{"x", x}});
  stream.synchronize();
  return lines;
}

TEST(DebugLog, LogsOneLinePerVariantWhenOff) {
  const std::vector<std::string> lines = lines_at(0);
  EXPECT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines, Contains(StartsWith("logged: 1 kernels for [] (the first): planned in ")));
}

TEST(DebugLog, LogsMoreAtEachLevel) {
  const std::string plans = "compile logged on ";
  const std::string schedules = "kernel logged_0: pointwise, threads ";
  const std::string passes = "pass fuse: ";
  const std::string caches = "disk cache: not used: ";
  const std::string launches = "run logged: kernel logged_0, ";
  const std::vector<std::string> all = {plans, schedules, passes, caches, launches};
  const std::vector<std::size_t> logged = {0, 1, 2, 4, 5};
  for (int debug = 0; debug <= 4; ++debug) {
    const std::vector<std::string> lines = lines_at(debug);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i < logged[static_cast<std::size_t>(debug)])
        EXPECT_THAT(lines, Contains(StartsWith(all[i]))) << debug;
      else
        EXPECT_THAT(lines, Not(Contains(StartsWith(all[i])))) << debug;
    }
  }
}

TEST(DebugLog, RejectsUnknownLevels) {
  EXPECT_EQ(test::error_of([] { (void)lines_at(5); }),
            "options.debug is 5; expected 0, 1, 2, 3 or 4");
}

TEST(DebugLog, LogsToStandardErrorIfTheVariableIsSet) {
  if (test::command_path().empty()) GTEST_SKIP() << "this build has no command";
  const test::ScratchFolder folder;
  std::ofstream(folder.path() + "/g.sinter")
      << "graph g(x: f32[8]) {\n  y = exp x\n  return y\n}\n";
  const auto run = [&](const std::string& debug) {
    return test::run_command("SINTER_DEBUG=" + debug + " sinter run g.sinter --device host --json",
                             folder.path())
        .output;
  };
  EXPECT_THAT(run("1"), HasSubstr("\nsinter: compile g on "));
  EXPECT_THAT(run("4"), HasSubstr("\nsinter: run g: kernel "));
  EXPECT_THAT(run("0"), Not(HasSubstr("sinter: ")));
  EXPECT_THAT(run("all"), HasSubstr("SINTER_DEBUG=all: expected 0, 1, 2, 3 or 4"));
}

}  // namespace
}  // namespace sinter::debug_log_test
