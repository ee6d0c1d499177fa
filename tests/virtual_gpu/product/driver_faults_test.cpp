// Every driver call of the product fails once, through runtime/driver/cuda_driver.cpp on virtual
// GPUs. The program gets an error that names the call, the code and the next step, or right
// results. Nothing leaks, and the devices work afterwards unless the code says that they are lost.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/driver/driver_advice.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/virtual_gpu/product/lifecycle.h"

namespace sinter::virtual_gpu::driver_faults_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSymbols[] = {
#define SYMBOL(NAME, ...) #NAME,
#include "runtime/driver/driver_symbols.def"
};

/// Calls of the opening of the driver's library, which OpeningFaults covers, and calls that cannot
/// fail.
const std::set<std::string> kNotCounted = {
    "cuGetErrorName",      "cuGetErrorString", "cuDriverGetVersion", "cuDeviceGetCount",
    "cuUserObjectRelease",  // only after a failed cuGraphRetainUserObject
};

/// Calls that release an object, which stays alive if they fail.
const std::set<std::string> kReleases = {
    "cuMemFree",      "cuMemFreeHost",  "cuStreamDestroy",    "cuEventDestroy",
    "cuModuleUnload", "cuGraphDestroy", "cuGraphExecDestroy", "cuUserObjectRelease"};

struct Case {
  std::string call;
  int nth = 1;
  int code = 1;
};

bool begins_with_any(const std::string& call, std::initializer_list<const char*> prefixes) {
  return std::ranges::any_of(prefixes, [&](const char* one) { return call.starts_with(one); });
}

/// Codes that the documentation of the call names, apart from invalid values.
std::vector<int> codes_of(const std::string& call) {
  if (call == "cuInit") return {3, 4, 34, 100, 802, 803, 804, 999};
  if (call.starts_with("cuDevice")) return {2, 3, 4, 46, 101, 801};
  if (call == "cuModuleLoadData") return {2, 200, 209, 218, 222, 304, 801};
  if (call == "cuModuleGetFunction") return {2, 500};
  if (begins_with_any(call, {"cuLaunchKernel", "cuGraphLaunch"})) return {2, 400, 701, 720, 801};
  if (begins_with_any(
          call, {"cuMemAlloc", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate", "cuGraphCreate",
                 "cuGraphAdd", "cuGraphInstantiate", "cuLaunchHost", "cuUserObjectCreate"}))
    return {2, 304, 801};
  if (call.starts_with("cuGraphExec")) return {400, 801, 910};
  if (call.starts_with("cuStream")) return {400, 801, 901};
  if (call.starts_with("cuEvent")) return {201, 400, 801};
  return {201, 801, 999};
}

std::string name_of(const Driver& driver, int code) {
  const char* name = nullptr;
  driver.cuGetErrorName(static_cast<CUresult>(code), &name);
  return name ? fmt::format("{} (error {}", name, code) : fmt::format("error {}", code);
}

/// The shared state of the cases. A lost device needs a new driver.
class Bench {
 public:
  Bench() : lifecycle_(folder_.path()) {
    renew();
    TwoGpus gpus(*driver_);
    lifecycle_.run(gpus);  // fills the cache on disk
  }

  const std::vector<float>& expected() const { return expected_; }
  const TestDriver& driver() const { return *driver_; }

  void renew() {
    driver_ = std::make_unique<TestDriver>(std::initializer_list<TestDriver::Variable>{
        {"VIRTUAL_GPUS", "sm_90 sms=4 l2=64k memory=1g, sm_90 sms=4 l2=64k memory=1g"},
        {"VIRTUAL_GPU_ON_DEMAND", "on"}});
  }
  /// Runs the programs without a fault. Afterwards the driver knows the number of their calls.
  void measure() {
    driver_->table().cuCtxSetCurrent(nullptr);
    {
      TwoGpus warm(*driver_);  // contexts, which stay
      lifecycle_.run(warm);
    }
    driver_->end_faults();
    TwoGpus gpus(*driver_);
    expected_ = lifecycle_.run(gpus);
  }
  /// The outcome of a run with the devices: an error's message, or results.
  std::string run(std::unique_ptr<TwoGpus>& gpus, std::vector<float>& results) const {
    try {
      if (!gpus) gpus = std::make_unique<TwoGpus>(*driver_);
      results = lifecycle_.run(*gpus);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

 private:
  test::ScratchFolder folder_;
  Lifecycle lifecycle_;
  std::unique_ptr<TestDriver> driver_;
  std::vector<float> expected_;
};

/// After the loss of a device, the error may come from a later call.
void expect_good_message(const Bench& bench, const Case& one, const std::string& message) {
  const auto code = static_cast<CUresult>(one.code);
  EXPECT_THAT(message, HasSubstr(loses_device(code) ? "failed on the cuda device" : one.call));
  EXPECT_THAT(message, HasSubstr(name_of(bench.driver().table(), one.code)));
  EXPECT_THAT(message, HasSubstr(std::string(advice_on(code, /*is_host=*/false))));
}

/// Returns true if an error was thrown.
bool run_case(Bench& bench, const Case& one) {
  SCOPED_TRACE(fmt::format("{}:{}:{}", one.call, one.nth, one.code));
  const std::string before = bench.driver().live_objects();
  const bool is_lost = loses_device(static_cast<CUresult>(one.code));
  std::string message;
  {
    std::unique_ptr<TwoGpus> gpus;
    std::vector<float> results;
    // A fault may have left a context current on this thread.
    bench.driver().table().cuCtxSetCurrent(nullptr);
    bench.driver().make_fail(one.call, one.nth, one.code);
    message = bench.run(gpus, results);
    // The last calls are made here.
    if (bench.driver().calls(one.call) < one.nth) gpus.reset();
    EXPECT_GE(bench.driver().calls(one.call), one.nth);
    bench.driver().end_faults();
    if (!message.empty()) {
      expect_good_message(bench, one, message);
    } else {
      EXPECT_EQ(results, bench.expected());
    }
    const std::string again = bench.run(gpus, results);
    if (is_lost) {
      EXPECT_THAT(again, HasSubstr("the device is lost"));
    } else {
      EXPECT_EQ(again, "");
      EXPECT_EQ(results, bench.expected());
    }
  }
  // A call without an error makes a context current for a release, or after a call. An object whose
  // release fails stays alive.
  const bool is_release =
      kReleases.contains(one.call) || (message.empty() && one.call == "cuCtxSetCurrent");
  if (is_lost) {
    bench.renew();
  } else if (!is_release) {
    EXPECT_EQ(bench.driver().live_objects(), before);
  }
  return !message.empty();
}

/// The shards of the calls, which ctest runs in parallel.
constexpr std::size_t kShards = 8;

class DriverFaults : public testing::TestWithParam<std::size_t> {};

TEST_P(DriverFaults, GiveAnErrorOrRightResults) {
  Bench bench;
  bench.measure();
  for (std::size_t i = GetParam(); i < std::size(kSymbols); i += kShards) {
    const std::string call = kSymbols[i];
    if (kNotCounted.contains(call)) continue;
    bench.driver().end_faults();
    bench.measure();
    const int made = bench.driver().calls(call);
    EXPECT_GT(made, 0) << call << " is not made";
    if (made == 0) continue;
    std::vector<Case> cases;
    for (const int nth : std::set<int>{1, std::min(2, made), made})
      cases.push_back({.call = call, .nth = nth, .code = 1});
    // An invalid value means that there are no more parameters.
    if (call == "cuFuncGetParamInfo") cases.clear();
    const int middle = made / 2 + 1;
    for (const int code : codes_of(call))
      cases.push_back({.call = call, .nth = std::min(middle, made), .code = code});
    // The other calls need no context, so work that has failed does not matter to them.
    if (!call.starts_with("cuDevice") && !call.starts_with("cuCtx") && call != "cuInit" &&
        call != "cuThreadExchangeStreamCaptureMode")
      cases.push_back({.call = call, .nth = std::min(middle, made), .code = 719});
    int errors = 0;
    for (const Case& one : cases) errors += run_case(bench, one);
    std::printf("%s: %d calls, %zu cases, %d errors\n", call.c_str(), made, cases.size(), errors);
  }
}

/// The work fails while a device executes it, and a later call reports that.
class WorkFaults : public testing::TestWithParam<int> {};

TEST_P(WorkFaults, AreReportedByLaterCalls) {
  Bench bench;
  for (const char* const work : {"kernel", "copy"}) {
    bench.measure();
    const int done = bench.driver().calls(work);
    ASSERT_GT(done, 2) << work;
    for (const int nth : {1, done / 2, done})
      EXPECT_TRUE(run_case(bench, {.call = work, .nth = nth, .code = GetParam()})) << nth;
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, WorkFaults,
                         testing::Values(700, 702, 714, 715, 716, 717, 718, 719));

struct OpeningFault {
  std::string call;
  int nth;
  int code;
};

/// The library is opened, but a call fails before there is a device.
TEST(OpeningFaults, GiveTheReason) {
  std::vector<OpeningFault> faults = {{"cuDriverGetVersion", 1, 3}, {"cuDeviceGetCount", 1, 3}};
  for (const int nth : {1, 2, static_cast<int>(std::size(kSymbols))})
    faults.push_back({"cuGetProcAddress", nth, 999});
  for (const int code : {2, 3, 4, 34, 46, 100, 304, 802, 803, 804, 805, 999})
    faults.push_back({"cuInit", 1, code});
  for (const auto& [call, nth, code] : faults) {
    const std::string fault = fmt::format("{}:{}:{}", call, nth, code);
    SCOPED_TRACE(fault);
    const TestDriver driver({{"VIRTUAL_GPU_FAULT", fault.c_str()}});
    EXPECT_THAT(driver.reason(), HasSubstr(call));
    EXPECT_THAT(driver.reason(), HasSubstr(fmt::format("error {}", code)));
    const auto advice = call == "cuDriverGetVersion"
                            ? std::string("; reinstall the NVIDIA driver")
                            : std::string(advice_on(static_cast<CUresult>(code), false));
    EXPECT_THAT(driver.reason(), HasSubstr(advice));
  }
}

TEST(OpeningFaults, MissingOptionalFunctionsDoNotMatter) {
  int number = 0;
  for (const DriverSymbol& symbol : kDriverSymbols) {
    ++number;
    if (symbol.need == Need::Required) continue;
    const std::string fault = fmt::format("cuGetProcAddress:{}:500", number);
    const TestDriver driver({{"VIRTUAL_GPU_FAULT", fault.c_str()}});
    EXPECT_EQ(driver.reason(), "") << symbol.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, DriverFaults, testing::Range<std::size_t>(0, kShards));

}  // namespace
}  // namespace sinter::virtual_gpu::driver_faults_test
