// The suite continues with the cases after a failed one, unless the device is broken.
#include "bench/suite/measure_all.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/driver/host/host_driver.h"

namespace sinter::suite::measure_all_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A runner of cases, one of which fails and may break the device.
struct Runner {
  std::vector<Row> run(const Case& one) {
    begun.push_back(one.name);
    return {{.name = one.name,
             .system = "sinter",
             .status = one.name == "bad" ? "failed" : "ok",
             .reason = {}}};
  }
  std::string device_error() const { return broken; }

  std::string broken = {};
  std::vector<std::string> begun = {};
};

class MeasureAllTest : public testing::Test {
 protected:
  Outcome measure(Runner& runner, double seconds = 0) {
    double now = 0;
    const std::vector<Case> cases = {{.name = "first"}, {.name = "bad"}, {.name = "last"}};
    return measure_all(
        cases, runner, seconds, [&] { return ++now; },
        [&](const std::vector<Row>& rows) {
          for (const Row& row : rows) reported.push_back(row.name + " " + row.status + row.reason);
        });
  }
  std::vector<std::string> reported;
};

TEST_F(MeasureAllTest, AFailureAffectsOnlyItsCase) {
  Runner runner;
  EXPECT_EQ(measure(runner), Outcome::wrong);
  EXPECT_THAT(reported, ElementsAre("first ok", "bad failed", "last ok"));
}

TEST_F(MeasureAllTest, NoCaseStartsOnABrokenDevice) {
  Runner runner{.broken = "CUDA_ERROR_ILLEGAL_ADDRESS"};
  EXPECT_EQ(measure(runner), Outcome::broken);
  EXPECT_THAT(runner.begun, ElementsAre("first", "bad"));
  EXPECT_THAT(reported, ElementsAre("first ok", "bad failed",
                                    "last not_runthe device no longer works after bad: "
                                    "CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(MeasureAllTest, NoCaseStartsAfterTheTimeLimit) {
  Runner runner;
  EXPECT_EQ(measure(runner, 0.5), Outcome::right);
  EXPECT_THAT(runner.begun, IsEmpty());
  EXPECT_EQ(reported[0], "first not_runthe limit of 0.5 s was reached");
}

TEST(DeviceErrorTest, HasTheErrorOfTheDriver) {
  const Device device = host_device();
  EXPECT_EQ(device_error(device), "");
  host::inject_fault("cuCtxSynchronize", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(device_error(device), HasSubstr("cuCtxSynchronize failed on the host device for a "
                                              "benchmark: CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_EQ(device_error(device), "");
}

}  // namespace
}  // namespace sinter::suite::measure_all_test
