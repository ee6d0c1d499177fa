// PTX that was saved for an older architecture runs on a GPU and gives the same bits.
#include <gtest/gtest.h>

#include "ir/oracle/random_inputs.h"
#include "sinter/sinter.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/run/run.h"

namespace sinter::test::saved_ptx_gpu_test {
namespace {

TEST(SavedPtxGpu, RunsOnLaterArchitectures) {
  const Device device = default_device();
  if (device.is_host()) GTEST_SKIP() << "there is no CUDA device";
  if (device.arch() == "sm_75" || device.arch() == "sm_80")
    GTEST_SKIP() << "there is no older architecture to save for";
  const Graph graph = parse(R"(
graph step(x: bf16[rows, 512], scale: f32) {
  h = cast x {to = f32}
  s = softmax h {axis = 1}
  y = mul s, scale
  columns = sum y {axes = [0]}
  return y, columns
})");
  const std::vector<std::int64_t> symbols = {48};
  const HostArrays inputs = random_inputs(graph, symbols, /*seed=*/1);
  const Executable executable = compile(graph, device, {.tune = Tune::off, .ptx = true});
  executable.prepare({{"rows", symbols[0]}}, Views::written);
  const ScratchFolder folder;
  const std::string path = folder.path() + "/step.sinterx";
  executable.save(path, {.archs = {"sm_80"}});
  const Executable loaded = load(path, device);
  const HostArrays expected = run_executable(executable, graph, inputs, {.symbols = symbols});
  for (const bool as_graph : {false, true})
    for (const auto& [name, values] :
         run_executable(loaded, graph, inputs, {.symbols = symbols, .as_graph = as_graph}))
      EXPECT_TRUE(equal_bits(values, expected.at(name))) << name;
}

}  // namespace
}  // namespace sinter::test::saved_ptx_gpu_test
