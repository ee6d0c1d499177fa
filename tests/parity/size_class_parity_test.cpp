// Rows and columns of symbolic length on a GPU, at the ends of their size classes. The shortest
// rows end far before the space of a kernel, and the longest fill it.
#include <gtest/gtest.h>

#include "runtime/device/device_state.h"
#include "tests/support/graphs/patterns.h"
#include "tests/support/run/compare_with_host.h"

namespace sinter::test::size_class_parity_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns/";

class SizeClassParity : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  }
};

TEST_P(SizeClassParity, EndsOfClassesGiveTheResultsOfTheHostDevice) {
  const Device gpu = default_device();
  for (const std::int64_t length : {65, 1025, 1536, 6145, 8191, 8193}) {
    const Pattern small =
        small_pattern(symbolic_pattern(std::string(kFolder) + GetParam() + ".sinter", length));
    SCOPED_TRACE(small.name);
    DeviceState device(gpu.state()->driver, gpu.ordinal());
    device.target = small.target(device.target);
    run_and_compare_with_host(
        Device(&device), small.graph(), small.named_sizes(),
        {.candidates = false, .replay = false, .unfused = runs_unfused(), .misaligned = true});
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, SizeClassParity,
                         testing::Values("softmax", "cross_entropy_forward", "rms_norm_i8",
                                         "layer_norm_backward", "column_softmax"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace sinter::test::size_class_parity_test
