// Injects a fault into every driver call in the life of a program. The error names the call, its
// code and its purpose, and the next program runs normally.
#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::driver_failures_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kColumns = 256;

constexpr const char* kSymbols[] = {
#define SYMBOL(NAME, ...) #NAME,
#include "runtime/driver/driver_symbols.def"
};

/// Calls that sometimes only release or restore something. The runtime cannot act on their failure,
/// so it writes a line to standard error at most. If a capture cannot be queried, or its mode
/// cannot be exchanged, the runtime continues as if there were no capture.
const std::set<std::string> kReleases = {"cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode",
                                         "cuMemFree",           "cuEventDestroy",
                                         "cuStreamDestroy",     "cuGraphExecDestroy",
                                         "cuGraphDestroy",      "cuModuleUnload",
                                         "cuCtxGetCurrent",     "cuCtxSetCurrent",
                                         "cuStreamSynchronize"};

/// Compiles, runs, replays, copies and times a program of three kernels. If `is_new`, the program
/// was never compiled before, and is tuned.
std::vector<float> run_lifecycle(bool is_new) {
  static double new_factor = 2.0;
  if (is_new) new_factor += 1.0;
  Graph graph("life");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows, kColumns});
  const Tensor steps = graph.input("steps", f32, {});
  const Tensor s = softmax(x);
  graph.output("total", sum(s));
  graph.output("columns", sum(s * new_factor, {0}));
  graph.update(steps, steps + 1.0);

  const Device device = host_device();
  const Stream stream = device.stream();
  const Stream other = device.stream();
  const Executable executable = compile(graph, device,
                                        {.tune = is_new ? Tune::quick : Tune::off,
                                         .skip = {"fuse_launches"},
                                         .optimize_host = false});
  Context context = executable.context();
  const Array xs = device.empty(f32, {kRows, kColumns});
  const Array counter = device.empty(f32, {});
  const Array copy = device.empty(f32, {kRows, kColumns});
  device.upload(xs, std::vector<float>(kRows * kColumns, 0.5F), stream);
  device.upload(counter, std::vector<float>{0}, stream);
  const Event start = device.event();
  const Event end = device.event();
  start.record(stream);
  const Outputs outputs = context.run(stream, {{"x", xs}, {"steps", counter}});
  end.record(stream);
  other.wait(end);
  const Array total = device.empty(f32, {});
  const Array columns = device.empty(f32, {kColumns});
  context.replay(other, {{"x", xs}, {"steps", counter}}, {{"total", total}, {"columns", columns}});
  context.replay(other, {{"x", copy}, {"steps", counter}},
                 {{"total", total}, {"columns", columns}});
  other.synchronize();
  end.synchronize();
  (void)end.is_done();
  (void)end.elapsed_since(start);
  device.synchronize();
  std::vector<float> result = device.download<float>(outputs["total"], stream);
  result.push_back(device.download<float>(counter, stream)[0]);
  return result;
}

/// True for calls that only compilation and tuning make.
bool is_compile_call(const std::string& call) {
  return call.starts_with("cuModule") || call.starts_with("cuMemset") ||
         call.starts_with("cuMemcpyDtoD");
}

using Calls = std::vector<std::string>;

/// Groups of calls that fail one after the other in one process, which saves process starts.
std::vector<Calls> groups_of_calls() {
  std::vector<Calls> groups;
  for (const bool is_compiling : {true, false}) {
    const std::size_t most = is_compiling ? 2 : 10;
    groups.emplace_back();
    for (const char* const call : kSymbols) {
      if (is_compile_call(call) != is_compiling) continue;
      if (groups.back().size() == most) groups.emplace_back();
      groups.back().emplace_back(call);
    }
  }
  return groups;
}

/// The parameter is the index of a group.
class DriverCalls : public testing::TestWithParam<std::size_t> {
 protected:
  void TearDown() override { host::clear_faults(); }

  static void make_fail(const std::string& call);
};

void DriverCalls::make_fail(const std::string& call) {
  SCOPED_TRACE(call);
  const bool is_new = is_compile_call(call);
  run_lifecycle(is_new);  // initializes process-wide state
  host::reset_counters();
  run_lifecycle(is_new);
  const auto made = host::calls(call);
  if (made == 0) return;  // LifecycleMakesTheListedCalls lists the calls that are made
  // Compilation is slow, so about five of its calls fail: the first, some in between, and the last.
  const unsigned long step = is_new ? std::max(made / 4, 1UL) : 1;
  std::set<unsigned long> failing_calls = {made};
  for (unsigned long n = 1; n < made; n += step) failing_calls.insert(n);
  int errors = 0;
  for (const auto n : failing_calls) {
    host::inject_fault(call, static_cast<int>(n), cuda::CUDA_ERROR_UNKNOWN);
    std::string message;
    try {
      run_lifecycle(is_new);
    } catch (const DriverError& error) {
      message = error.what();
    }
    host::clear_faults();
    errors += !message.empty();
    if (message.empty()) {
      EXPECT_TRUE(kReleases.contains(call)) << call << " " << n << " failed without an error";
    } else {
      EXPECT_THAT(message, AllOf(HasSubstr(call + " failed on the host device for "),
                                 HasSubstr("CUDA_ERROR_UNKNOWN")));
    }
    EXPECT_THAT(run_lifecycle(is_new), ElementsAre(kRows, 3)) << "after call " << n;
  }
  std::printf("%s: %lu calls, %zu made to fail, %d errors that name it\n", call.c_str(), made,
              failing_calls.size(), errors);
}

TEST_P(DriverCalls, ReportCallCodeAndContext) {
  const Calls group = groups_of_calls()[GetParam()];
  for (const std::string& call : group) make_fail(call);
}

/// The groups contain every call.
TEST(DriverFailures, GroupsHaveEveryCallOnce) {
  std::multiset<std::string> calls;
  for (const Calls& group : groups_of_calls()) calls.insert(group.begin(), group.end());
  EXPECT_EQ(calls, (std::multiset<std::string>(std::begin(kSymbols), std::end(kSymbols))));
}

TEST(DriverFailures, LifecycleMakesTheListedCalls) {
  run_lifecycle(true);
  host::reset_counters();
  run_lifecycle(true);
  std::vector<std::string> called;
  for (const char* symbol : kSymbols)
    if (host::calls(symbol) > 0) called.push_back(symbol);
  // The other calls open a device, exist for GPUs only, or need explicit requests.
  EXPECT_THAT(called, IsSupersetOf({"cuCtxGetCurrent",
                                    "cuCtxSynchronize",
                                    "cuMemAlloc",
                                    "cuMemFree",
                                    "cuMemcpyHtoDAsync",
                                    "cuMemcpyDtoHAsync",
                                    "cuMemcpyDtoDAsync",
                                    "cuMemsetD8Async",
                                    "cuMemsetD32Async",
                                    "cuStreamCreate",
                                    "cuStreamDestroy",
                                    "cuStreamSynchronize",
                                    "cuStreamWaitEvent",
                                    "cuEventCreate",
                                    "cuEventDestroy",
                                    "cuEventRecord",
                                    "cuEventSynchronize",
                                    "cuEventQuery",
                                    "cuEventElapsedTime",
                                    "cuModuleLoadData",
                                    "cuModuleGetFunction",
                                    "cuLaunchKernelEx",
                                    "cuGraphCreate",
                                    "cuGraphDestroy",
                                    "cuGraphAddKernelNode",
                                    "cuGraphAddDependencies",
                                    "cuGraphInstantiateWithFlags",
                                    "cuGraphExecKernelNodeSetParams",
                                    "cuGraphExecDestroy",
                                    "cuGraphLaunch"}));
}

INSTANTIATE_TEST_SUITE_P(Symbols, DriverCalls,
                         testing::Range<std::size_t>(0, groups_of_calls().size()),
                         [](const auto& test) {
                           const Calls group = groups_of_calls()[test.param];
                           return fmt::format("{}_and_{}_more", group.front(), group.size() - 1);
                         });

}  // namespace
}  // namespace sinter::driver_failures_test
