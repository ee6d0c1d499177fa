// Graphs with library ops on a GPU: values within the oracle's bounds, and equal bits in fused,
// unfused and replayed runs.
#include <gtest/gtest.h>

#include "runtime/libraries/cuda/cublaslt.h"
#include "runtime/libraries/cuda/cudnn.h"
#include "tests/support/graphs/library_graphs.h"
#include "tests/support/run/run.h"

namespace sinter::test::library_graphs_gpu_test {
namespace {

class GpuLibraryGraphs : public testing::TestWithParam<LibraryGraph> {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
    if (default_device().name().starts_with("virtual GPU"))
      GTEST_SKIP() << "NVIDIA's libraries do not run on the virtual GPU";
    if (!find_cublaslt().library) GTEST_SKIP() << find_cublaslt().reason;
    if (!find_cudnn().library) GTEST_SKIP() << find_cudnn().reason;
  }
};

TEST_P(GpuLibraryGraphs, AreWithinTheOraclesBounds) {
  run_and_check_on(default_device(), GetParam().make(), GetParam().sizes);
}

INSTANTIATE_TEST_SUITE_P(All, GpuLibraryGraphs, testing::ValuesIn(library_graphs()),
                         [](const auto& graph) { return std::string(graph.param.name); });

}  // namespace
}  // namespace sinter::test::library_graphs_gpu_test
