// Result invariance on a GPU: the families of tests/host, under every candidate schedule.
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/graphs/reduction_families.h"
#include "tests/support/run/run.h"

namespace sinter::test::invariance_gpu_test {
namespace {

class GpuInvariance : public testing::TestWithParam<std::tuple<ReductionFamily, DType>> {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  }
};

TEST_P(GpuInvariance, EveryCandidateGivesTheSameBits) {
  const auto& [family, dtype] = GetParam();
  // Without launch fusion, so that each kernel has its own candidates.
  run_and_check_on(default_device(), parse(graph_text(family, dtype)), {},
                   {.replay = false, .options = {.skip = {"fuse_launches"}}});
}

INSTANTIATE_TEST_SUITE_P(Reductions, GpuInvariance,
                         testing::Combine(testing::ValuesIn(reduction_families()),
                                          testing::ValuesIn(reduction_dtypes())),
                         [](const auto& test) {
                           return fmt::format("{}_{}", std::get<0>(test.param).name,
                                              name(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace sinter::test::invariance_gpu_test
