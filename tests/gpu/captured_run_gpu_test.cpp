// Runs captured into a CUDA Graph by the user, on a GPU.
#include <gtest/gtest.h>

#include "tests/support/doubles/stream_capture.h"
#include "tests/support/graphs/lists.h"

namespace sinter::captured_run_gpu_test {
namespace {

class GpuCapture : public ::testing::Test {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  }
};

TEST_F(GpuCapture, LaunchesMatchPlainRuns) {
  for (const test::CapturedProgram& program : test::captured_programs())
    for (const CUstreamCaptureMode mode : test::kCaptureModes)
      for (const bool as_graph : {false, true})
        test::check_captured(program, default_device(), mode, as_graph, /*is_cold=*/false);
}

TEST_F(GpuCapture, CapturesTheFirstRun) {
  for (const CUstreamCaptureMode mode : test::kCaptureModes)
    test::check_captured({.name = "cold",
                          .text = "graph cold(x: f32[n]) {\n  e = exp x\n  y = sum e\n  return y\n"
                                  "}\n",
                          .symbols = {100000}},
                         default_device(), mode, /*as_graph=*/false, /*is_cold=*/true);
}

TEST_F(GpuCapture, CapturesForeachUpdates) {
  // The table of 18 tensors is a parameter, that of 100 is in device memory.
  for (const int tensors : {18, 100})
    test::check_captured({.name = "lists", .text = test::adamw_text(tensors)}, default_device(),
                         CU_STREAM_CAPTURE_MODE_GLOBAL, /*as_graph=*/true, /*is_cold=*/false);
}

TEST_F(GpuCapture, CapturedWorkOutlivesItsExecutable) {
  const Device device = default_device();
  const Stream stream = device.stream();
  const Graph graph = parse("graph total(x: f32[n]) {\n  y = sum x\n  return y\n}\n");
  const std::vector<float> ones(50000, 1);
  const Array x = device.empty(f32, {50000});
  const Array y = device.empty(f32, {});
  device.upload(x, ones, stream);
  std::optional<test::UserGraph> captured;
  {
    const Executable executable = compile(graph, device);
    Context context = executable.context();
    context.run(stream, {{"x", x}}, {{"y", y}});
    captured.emplace(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
      context.run(stream, {{"x", x}}, {{"y", y}});
    });
  }
  for (int i = 0; i < 3; ++i) {
    const Array more = device.empty(f32, {1 << 20});  // could reuse freed memory
    captured->launch(stream);
    EXPECT_EQ(device.download<float>(y, stream)[0], 50000);
  }
}

}  // namespace
}  // namespace sinter::captured_run_gpu_test
