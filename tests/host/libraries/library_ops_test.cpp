// Graphs with library ops on the host device: values within the oracle's bounds, and equal bits in
// fused, unfused and replayed runs.
#include <list>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/graphs/library_graphs.h"
#include "tests/support/run/run.h"

namespace sinter::test::library_ops_test {
namespace {

class HostLibraryGraphs : public testing::TestWithParam<LibraryGraph> {};

TEST_P(HostLibraryGraphs, AreWithinTheOraclesBounds) {
  const RunResult run = run_and_check(GetParam().make(), GetParam().sizes);
  bool has_call = false;
  for (const KernelReport& kernel : run.report.kernels) has_call |= kernel.kind == "opaque";
  EXPECT_TRUE(has_call);
}

INSTANTIATE_TEST_SUITE_P(All, HostLibraryGraphs, testing::ValuesIn(library_graphs()),
                         [](const auto& graph) { return std::string(graph.param.name); });

TEST(HostLibraryOps, SavedProgramsRunAgain) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/mlp.sinterx";
  const Graph graph = mlp_gradients(f32);
  const Device device = host_device();
  const Executable compiled = compile(graph, device, {.tune = Tune::off});
  compiled.prepare({{"rows", 9}});
  compiled.save(path);
  const Executable loaded = load(path, device);
  const Stream stream = device.stream();
  const auto loss_of = [&](const Executable& executable) {
    std::vector<Binding> inputs;
    std::list<Array> arrays;  // the bindings refer to them
    for (const auto& [name, shape] : std::vector<std::pair<const char*, std::vector<std::int64_t>>>{
             {"x", {9, 48}}, {"w1", {48, 64}}, {"b1", {64}}, {"w2", {64, 16}}}) {
      const Array array = device.empty(f32, shape);
      std::vector<float> values(static_cast<std::size_t>(array.elements()));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i * 7 % 23) / 23 - 0.4F;
      device.upload(array, values, stream);
      inputs.emplace_back(name, arrays.emplace_back(array));
    }
    const Array loss = device.empty(f32, {});
    const Array g1 = device.empty(f32, {48, 64}), gb = device.empty(f32, {64}),
                g2 = device.empty(f32, {64, 16});
    Context context = executable.context();
    context.run(stream, inputs, {{"loss", loss}, {"g1", g1}, {"gb", gb}, {"g2", g2}});
    return device.download<float>(loss, stream);
  };
  const std::vector<float> expected = loss_of(compiled);
  EXPECT_NE(expected[0], 0);
  EXPECT_EQ(loss_of(loaded), expected);
}

}  // namespace
}  // namespace sinter::test::library_ops_test
