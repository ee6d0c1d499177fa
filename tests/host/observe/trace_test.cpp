// The trace file: always complete JSON, with nested spans and the figures of profiles.
#include "runtime/logging/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "sinter/sinter.h"
#include "tests/support/files/command.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::trace_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using Json = nlohmann::json;

Json read_json(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

std::int64_t nanoseconds(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}

/// Two spans of a lane that overlap without nesting; empty if there are none.
std::string badly_nested(const Json& events) {
  std::map<std::pair<int, int>, std::vector<Json>> lanes;
  for (const Json& event : events)
    if (event["ph"] == "X") lanes[{event["pid"], event["tid"]}].push_back(event);
  const auto begin = [](const Json& event) { return nanoseconds(event["ts"]); };
  const auto end = [&](const Json& event) { return begin(event) + nanoseconds(event["dur"]); };
  for (auto& [lane, spans] : lanes) {
    std::ranges::sort(spans, [&](const Json& a, const Json& b) {
      return begin(a) != begin(b) ? begin(a) < begin(b) : end(a) > end(b);
    });
    std::vector<Json> open;
    for (const Json& span : spans) {
      while (!open.empty() && end(open.back()) <= begin(span)) open.pop_back();
      if (!open.empty() && end(span) > end(open.back()))
        return open.back().dump() + " and " + span.dump();
      open.push_back(span);
    }
  }
  return "";
}

class TraceTest : public ::testing::Test {
 protected:
  ~TraceTest() override { Trace::end(); }

  Json events() const {
    Trace::flush();
    return read_json(path);
  }
  /// Compiles, tunes, uploads, runs, replays and profiles a graph; returns the profile.
  Profile work() const {
    Graph graph("traced");
    const Tensor x = graph.input("x", f32, {64, 96});
    graph.output("y", softmax(exp(x), -1));
    const Executable executable = compile(graph, device, {.trace = path});
    Context context = executable.context();
    const Stream stream = device.stream();
    const Array from = device.empty(f32, {64, 96});
    device.upload(from, std::vector<float>(64 * 96, 0.5F), stream);
    const Array to = device.empty(f32, {64, 96});
    context.run(stream, {{"x", from}}, {{"y", to}});
    context.replay(stream, {{"x", from}}, {{"y", to}});
    (void)device.download<float>(to, stream);
    return profile(context, {{"x", from}}, {{"y", to}}, {.repeats = 5});
  }

  test::ScratchFolder folder;
  const std::string path = folder.path() + "/trace.json";
  const Device device = host_device();
};

TEST_F(TraceTest, HasALaneForEachKindOfWork) {
  (void)work();
  std::set<std::string> categories;
  std::set<std::string> names;
  for (const Json& event : events()) {
    names.insert(event["name"]);
    if (event.contains("cat")) categories.insert(event["cat"]);
  }
  EXPECT_THAT(categories,
              IsSupersetOf({"compile", "plan", "emit", "launch", "copy", "profile", "kernel"}));
  EXPECT_THAT(names, IsSupersetOf({"fuse", "schedule", "plan traced", "traced_0", "run traced",
                                   "replay traced", "build graph", "upload f32[64, 96]",
                                   "download f32[64, 96]"}));
}

TEST_F(TraceTest, SpansAreNested) {
  (void)work();
  const Json all = events();
  EXPECT_EQ(badly_nested(all), "");
  const Json crossing = {{{"ph", "X"}, {"pid", 1}, {"tid", 1}, {"ts", 1.0}, {"dur", 2.0}},
                         {{"ph", "X"}, {"pid", 1}, {"tid", 1}, {"ts", 2.0}, {"dur", 2.0}}};
  EXPECT_NE(badly_nested(crossing), "");
}

TEST_F(TraceTest, KernelSpansMatchTheProfile) {
  const Profile result = work();
  std::map<std::string, std::vector<Json>> launches;
  for (const Json& event : events())
    if (event.contains("cat") && event["cat"] == "kernel") launches[event["name"]].push_back(event);
  ASSERT_THAT(launches, SizeIs(result.kernels.size()));
  for (const KernelProfile& kernel : result.kernels) {
    const std::vector<Json>& timed = launches[kernel.name];
    ASSERT_THAT(timed, SizeIs(result.repeats));
    std::vector<double> durations;
    for (const Json& event : timed) {
      durations.push_back(event["dur"]);
      EXPECT_EQ(event["args"]["bytes"], kernel.bytes());
      EXPECT_EQ(event["args"]["median_us"], kernel.median_us);
      EXPECT_EQ(event["args"]["median_gigabytes_per_second"], kernel.gigabytes_per_second);
      EXPECT_EQ(event["args"]["share_of_copy"], kernel.share_of_copy);
    }
    std::ranges::sort(durations);
    EXPECT_NEAR(durations[2], kernel.median_us, 0.001);
  }
}

TEST_F(TraceTest, IsCompleteAfterEveryFlushWithManyThreads) {
  Trace::begin(path);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      for (int j = 0; j < 500; ++j) {
        TraceSpan outer("test", [&] { return "outer \"" + std::to_string(i) + "\"\n"; });
        const TraceSpan inner("test", "inner \xff");  // not UTF-8
        outer.add("number", std::int64_t{j});
      }
    });
  for (int i = 0; i < 20; ++i) {
    Trace::flush();
    EXPECT_TRUE(read_json(path).is_array());
  }
  threads.clear();
  const Json all = events();
  EXPECT_EQ(std::ranges::count_if(all, [](const Json& event) { return event["ph"] == "X"; }), 4000);
  EXPECT_EQ(badly_nested(all), "");
}

TEST_F(TraceTest, IsFlushedOnErrors) {
  Trace::begin(path);
  try {
    const TraceSpan span("test", "the last words");
    throw UserError("no");
  } catch (const UserError&) {
  }
  const Json all = read_json(path);  // without an explicit flush
  EXPECT_EQ(all.back()["name"], "the last words");
  EXPECT_EQ(all.back()["args"]["failed"], "yes");
}

TEST_F(TraceTest, SwitchesFiles) {
  const std::string other = folder.path() + "/other.json";
  Trace::begin(path);
  { const TraceSpan span("test", "first"); }
  Trace::begin(other);
  { const TraceSpan span("test", "second"); }
  Trace::end();
  { const TraceSpan span("test", "nowhere"); }
  EXPECT_EQ(read_json(path).back()["name"], "first");
  EXPECT_EQ(read_json(other).back()["name"], "second");
}

TEST_F(TraceTest, ForkedChildrenDoNotWrite) {
  Trace::begin(path);
  { const TraceSpan span("test", "before"); }
  const pid_t child = fork();
  if (child == 0) {
    Trace::begin(path);
    { const TraceSpan span("test", "in the child"); }
    Trace::flush();
    Trace::end();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  { const TraceSpan span("test", "after"); }
  std::vector<std::string> names;
  for (const Json& event : events())
    if (event["ph"] == "X") names.push_back(event["name"]);
  EXPECT_THAT(names, ElementsAre("before", "after"));
}

TEST_F(TraceTest, RejectsAFileThatCannotBeWritten) {
  EXPECT_THAT(test::error_of([] { Trace::begin("/no/folder/trace.json"); }),
              HasSubstr("trace: /no/folder/trace.json cannot be written (No such file"));
  EXPECT_FALSE(Trace::is_on());
}

TEST_F(TraceTest, IsCompleteIfTheCommandFails) {
  if (test::command_path().empty()) GTEST_SKIP() << "this build has no command";
  std::ofstream(folder.path() + "/g.sinter")
      << "graph g(x: f32[8]) {\n  y = exp x\n  return y\n}\n";
  const auto run = [&](const std::string& variables) {
    return test::run_command(variables + " sinter run g.sinter --device host", folder.path());
  };
  EXPECT_EQ(run("SINTER_TRACE=whole.json").exit_code, 0);
  std::set<std::string> names;
  for (const Json& event : read_json(folder.path() + "/whole.json")) names.insert(event["name"]);
  EXPECT_THAT(names, IsSupersetOf({"run g", "g_0", "download bool[32]"}));
  EXPECT_EQ(run("SINTER_TRACE=failed.json SINTER_HOST_CXX=/bin/false").exit_code, 1);
  bool has_failure = false;
  for (const Json& event : read_json(folder.path() + "/failed.json"))
    has_failure = has_failure || (event.contains("args") && event["args"].contains("failed"));
  EXPECT_TRUE(has_failure);
}

}  // namespace
}  // namespace sinter::trace_test
