// Schedules for the CPU: every check of run.h, and the bits of the schedules of a GPU. Graphs are
// those in tests/golden/run, and one for each form of a vector's end.
#include <filesystem>

#include <gtest/gtest.h>

#include "ir/oracle/random_inputs.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/device/device_state.h"
#include "runtime/driver/host/host_driver.h"
#include "tests/support/files/golden.h"
#include "tests/support/files/read_text.h"
#include "tests/support/run/run.h"

namespace sinter::test::cpu_target_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/run";

/// The host device with schedules for `name`.
struct HostDevice {
  explicit HostDevice(std::string_view name) : state(host::host_driver(), 0) {
    state.target = *find_target(name);
  }
  Device device() { return Device(&state); }
  DeviceState state;
};

/// Runs `graph` with schedules for the CPU, with every check. Returns the report.
Report expect_bits_of_gpu(const Graph& graph, const std::vector<Size>& sizes) {
  HostDevice cpu("cpu");
  const RunResult checked = run_and_check_on(cpu.device(), graph, sizes, {.optimized = true});
  HostDevice gpu("h200");
  std::vector<NamedSize> named;
  for (const Size& size : sizes) named.push_back({size.symbol, size.value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, named);
  const HostArrays inputs = random_inputs(graph, symbols, CheckSettings{}.seed);
  const RunResult expected = run_graph(graph, gpu.device(), inputs, {.symbols = symbols});
  for (const auto& [name, values] : expected.results)
    EXPECT_FALSE(first_difference(values, checked.results.at(name))) << name << print(graph);
  return checked.report;
}

class CpuGoldenRun : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(CpuGoldenRun, HasTheBitsOfTheGpuSchedules) {
  const std::string text = read_text(GetParam());
  const Graph graph = parse(text, GetParam().filename().string());
  std::vector<GoldenSizes> runs = golden_sizes(text);
  if (runs.empty()) runs.emplace_back();
  for (const GoldenSizes& sizes : runs) {
    std::vector<Size> named;
    for (const auto& [name, value] : sizes) named.push_back({name, value});
    expect_bits_of_gpu(graph, named);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, CpuGoldenRun, testing::ValuesIn(golden_graphs(kFolder)),
                         [](const auto& test) { return test.param.stem().string(); });

struct Case {
  const char* name;
  const char* text;
  const char* schedule;  ///< of the first kernel
};

class CpuSchedules : public testing::TestWithParam<Case> {};

TEST_P(CpuSchedules, HaveOneThreadAndTheBitsOfTheGpuSchedules) {
  const Report report = expect_bits_of_gpu(parse(GetParam().text), {});
  EXPECT_EQ(report.kernels.at(0).schedule, GetParam().schedule);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, CpuSchedules,
    testing::Values(
        Case{"whole_vectors", "graph g(x: f32[4096]) {\n y = mul x, x\n return y\n}\n",
             "threads 1, vector 64"},
        Case{"short_last_vector", "graph g(x: f32[4099]) {\n y = mul x, x\n return y\n}\n",
             "threads 1, vector 64"},
        Case{"odd_rows", "graph g(x: bf16[37, 101], w: bf16[101]) {\n y = mul x, w\n return y\n}\n",
             "threads 1, vector 64"},
        Case{"short_rows", "graph g(x: f32[300, 3], w: f32[3]) {\n y = mul x, w\n return y\n}\n",
             "threads 1, vector 4, unroll 4"},
        Case{"resident_row",
             "graph g(x: f32[5, 1000]) {\n y = softmax x {axis = -1}\n return y\n}\n",
             "threads 1, vector 128, resident"},
        Case{"row_of_parts",
             "graph g(x: f32[200, 16384]) {\n y = softmax x {axis = -1}\n return y\n}\n",
             "threads 1, vector 128, resident"},
        Case{"full_sum", "graph g(x: f32[100003]) {\n y = sum x {axes = [0]}\n return y\n}\n",
             "threads 1, vector 128, split"},
        Case{"transposed",
             "graph g(x: f32[256, 512], z: f32[512, 256]) {\n"
             " t = permute x {axes = [1, 0]}\n y = add t, z\n return y\n}\n",
             "threads 1, vector 4, tiles of 32 x 32"},
        Case{"columns", "graph g(x: f32[1000, 96]) {\n y = sum x {axes = [0]}\n return y\n}\n",
             "threads 1, vector 96"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace sinter::test::cpu_target_test
