// Executables saved and loaded on a GPU: they give the same bits and compile nothing.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "ir/oracle/random_inputs.h"
#include "ir/verify/symbol_sizes.h"
#include "sinter/sinter.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/run/run.h"

namespace sinter::test::saved_gpu_test {
namespace {

class SavedGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  }

  /// Tunes for the first of `rows` and runs all of them. All are in one size class.
  static void check(std::string_view text, std::vector<std::int64_t> rows) {
    // An interpreter of PTX takes long for the many launches of tuning.
    if (default_device().name().starts_with("virtual GPU"))
      for (std::int64_t& size : rows) size /= 64;
    const ScratchFolder folder;
    const std::string path = folder.path() + "/graph.sinterx";
    const Graph graph = parse(text);
    const Executable executable = compile(graph, default_device());
    executable.prepare({{"rows", rows[0]}}, Views::written);
    executable.save(path);
    const Executable loaded = load(path, default_device());
    for (const std::int64_t size : rows) {
      const std::vector<std::int64_t> symbols = {size};
      const HostArrays inputs = random_inputs(graph, symbols, /*seed=*/1);
      const HostArrays expected = run_executable(executable, graph, inputs, {.symbols = symbols});
      const CompileCounters before = loaded.report().counters;
      for (const bool as_graph : {false, true})
        for (const auto& [name, values] :
             run_executable(loaded, graph, inputs, {.symbols = symbols, .as_graph = as_graph}))
          EXPECT_TRUE(equal_bits(values, expected.at(name))) << name << " of " << size << " rows";
      EXPECT_EQ(loaded.report().counters.compiles, before.compiles);
    }
    for (std::size_t i = 0; i < loaded.report().kernels.size(); ++i)
      EXPECT_EQ(loaded.report().kernels[i].schedule, executable.report().kernels[i].schedule);
  }
};

TEST_F(SavedGpu, RunsRows) {
  check(R"(
graph softmax(x: bf16[rows, 4096]) {
  y = softmax x {axis = 1}
  return y
})",
        {2048, 2000, 2049});
}

TEST_F(SavedGpu, RunsSeveralKernelsAndUpdates) {
  check(R"(
graph step(p: f32[rows, 512], g: f32[rows, 512], lr: f32) {
  total = sum g
  scale = rsqrt total
  scaled = mul g, lr
  n = mul scaled, 0.5
  new = sub p, n
  columns = sum new {axes = [0]}
  update p, new
  return columns, scale
})",
        {4096});
}

/// Weights are in the file. A load copies them to the device once, in several pinned pieces.
TEST_F(SavedGpu, LoadsWeights) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/graph.sinterx";
  const Device device = default_device();
  const Stream stream = device.stream();
  const Graph graph = parse(R"(
graph layer(x: f32[rows, 1024], w: f32[1100, 1024], b: f32[1024], count: f32[1024]) {
  m = mean w {axes = [0]}
  s = mul x, m
  y = add s, b
  c = add count, b
  update count, c
  return y
})");
  const HostArrays values = random_inputs(graph, std::vector<std::int64_t>{16}, /*seed=*/1);
  std::map<std::string, Array> arrays;
  for (const auto& [name, value] : values) {
    arrays.emplace(name, device.empty(f32, value.shape()));
    device.upload(arrays.at(name), static_cast<const void*>(value.bytes().data()), stream);
  }
  stream.synchronize();
  const Executable executable =
      compile(graph, device)
          .with_weights(
              {{"w", arrays.at("w")}, {"b", arrays.at("b")}, {"count", arrays.at("count")}});
  executable.prepare({{"rows", 16}});
  executable.save(path);
  const Executable loaded = load(path, device);
  const auto answer_of = [&](const Executable& program) {
    Context context = program.context();
    return device.download<float>(context.run(stream, {{"x", arrays.at("x")}})["y"], stream);
  };
  EXPECT_EQ(answer_of(loaded), answer_of(executable));
  for (const char* name : {"w", "b", "count"})
    EXPECT_EQ(device.download<float>(loaded.weight(name), stream),
              device.download<float>(executable.weight(name), stream))
        << name;
}

}  // namespace
}  // namespace sinter::test::saved_gpu_test
