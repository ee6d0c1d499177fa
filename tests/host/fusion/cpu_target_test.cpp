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
Report expect_bits_of_gpu(const Graph& graph, const std::vector<Size>& sizes,
                          bool optimized = true) {
  HostDevice cpu("cpu");
  const RunResult checked = run_and_check_on(cpu.device(), graph, sizes, {.optimized = optimized});
  for (const KernelReport& kernel : checked.report.kernels)
    EXPECT_EQ(kernel.threads, 1) << kernel.name << ": " << kernel.schedule;
  HostDevice gpu("h200");
  std::vector<NamedSize> named;
  for (const Size& size : sizes) named.push_back({size.symbol, size.value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, named);
  const HostArrays inputs = random_inputs(graph, symbols, CheckSettings{}.seed);
  // Not optimised: golden_run_test.cpp shows that optimised kernels of a GPU have the same bits.
  const Options plain = {.tune = Tune::off, .optimize_host = false};
  const RunResult expected =
      run_graph(graph, gpu.device(), inputs, {.symbols = symbols, .options = plain});
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
    expect_bits_of_gpu(graph, named, /*optimized=*/&sizes == &runs.front());
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
             "threads 1, vector 32, tiles of 32 x 32"},
        Case{"columns", "graph g(x: f32[1000, 96]) {\n y = sum x {axes = [0]}\n return y\n}\n",
             "threads 1, vector 96, 16 splits"},
        Case{"three_columns", "graph g(x: f32[999, 3]) {\n y = sum x {axes = [0]}\n return y\n}\n",
             "threads 1, vector 3, 16 splits"},
        Case{"short_last_columns",
             "graph g(x: bf16[70, 1031], w: f32[1031], i: i64[1031] {range = [0, 1030]}) {\n"
             " s = sum x {axes = [0]}\n t = take w, i {axis = 0}\n u = mul t, w\n"
             " y = add s, u\n return y\n}\n",
             "threads 1, vector 1024, 2 splits"},
        Case{"columns_twice",
             "graph g(x: f32[30, 257]) {\n y = softmax x {axis = 0}\n return y\n}\n",
             "threads 1, vector 256"},
        Case{"rows_and_columns",
             "graph g(x: f32[700, 1000]) {\n m = mean x {axes = [-1], keep = true}\n"
             " y = sub x, m\n z = sum y {axes = [0]}\n return y, z\n}\n",
             "threads 1, vector 128, 16 splits, resident"},
        Case{"rows_of_parts_and_columns",
             "graph g(x: f32[9, 8200]) {\n r = sum x {axes = [1]}\n c = sum x {axes = [0]}\n"
             " return r, c\n}\n",
             "threads 1, vector 128"},
        Case{"largest_of_rows",
             "graph g(x: f32[7, 1003], i: i32[5, 40]) {\n a = argmax x {axis = 1}\n"
             " b = argmin x {axis = 1}\n c = max x {axes = [1]}\n d = prod i {axes = [1]}\n"
             " return a, b, c, d\n}\n",
             "threads 1 | threads 1, vector 128 | threads 1, vector 64"},
        Case{"scan", "graph g(x: f32[100, 2500]) {\n y = cumsum x {axis = 1}\n return y\n}\n",
             "threads 1, vector 4, unroll 256"},
        Case{"scan_of_one_row",
             "graph g(x: f32[10007]) {\n y = cumsum x {axis = 0}\n return y\n}\n",
             "threads 1, vector 4, unroll 256, split"},
        Case{"scan_of_columns",
             "graph g(x: f32[1500, 20]) {\n y = cumsum x {axis = 0}\n return y\n}\n",
             "threads 1, vector 4, unroll 256, split"},
        Case{"scatter_in_place",
             "graph g(x: f32[500, 40], s: f32[70, 40], i: i64[70] {range = [-500, 499]}) {\n"
             " y = index_put x, s, i {axes = [0], accumulate = true}\n return y\n}\n",
             "threads 1, vector 1, 1 per row, 25 rows per block"},
        Case{"scatter_of_kept_rows",
             "graph g(w: f32[500, 40], s: f32[70, 40], i: i64[70] {range = [0, 499]}) {\n"
             " z = full {shape = [500, 40], value = 0, dtype = f32}\n"
             " g = index_put z, s, i {axes = [0], accumulate = true}\n h = mul g, 0.1\n"
             " v = sub w, h\n update w, v\n}\n",
             "threads 1, vector 1, 1 per row, 25 rows per block, resident"},
        Case{"scatter_of_marked_rows",
             "graph g(x: f32[600, 20000], s: f32[3, 20000], i: i64[3] {range = [0, 599]}) {\n"
             " y = index_put x, s, i {axes = [0], accumulate = true}\n z = mul y, 0.5\n"
             " return z\n}\n",
             "threads 1, vector 1, 1 per row, 10 rows per block"}),
    [](const auto& test) { return test.param.name; });

/// The program of one class of lengths serves all of them. Rows of several parts end anywhere.
TEST(CpuSchedules, KeepRowsOfSymbolicLengths) {
  const Graph graph = parse(
      "graph g(x: bf16[rows, columns]) {\n h = cast x {to = f32}\n s = softmax h {axis = -1}\n"
      " y = cast s {to = bf16}\n return y\n}\n");
  for (const std::int64_t columns : {1, 7, 1024, 1025, 1100, 9001}) {
    const Report report = expect_bits_of_gpu(graph, {{"rows", 3}, {"columns", columns}});
    EXPECT_TRUE(report.kernels.at(0).schedule.ends_with(", resident")) << columns;
  }
}

/// Arrays of symbolic sizes may be large, so that their kernels prefetch. They do so past the ends
/// of small arrays too.
TEST(CpuSchedules, PrefetchesReadNothing) {
  constexpr const char* kGraphs[] = {
      "graph g(x: bf16[rows, columns]) {\n h = cast x {to = f32}\n y = sum h {axes = [0]}\n"
      " return y\n}\n",
      "graph g(x: f32[columns, rows], z: f32[rows, columns]) {\n t = permute x {axes = [1, 0]}\n"
      " y = add t, z\n return y\n}\n",
      "graph g(x: f32[rows, columns], w: f32[columns]) {\n s = softmax x {axis = 1}\n"
      " y = mul s, w\n z = sum s {axes = [0]}\n return y, z\n}\n"};
  for (const char* const text : kGraphs)
    for (const std::int64_t rows : {67, 130, 700}) {
      const Report report = expect_bits_of_gpu(parse(text), {{"rows", rows}, {"columns", 1040}});
      EXPECT_NE(report.kernels.at(0).source.find("prefetch"), std::string::npos)
          << report.kernels.at(0).source;
    }
}

TEST(CpuSchedules, ReadVeryLongRowsAgain) {
  const Graph graph =
      parse("graph g(x: f32[2, 140000]) {\n y = softmax x {axis = -1}\n return y\n}\n");
  for (const KernelReport& kernel : expect_bits_of_gpu(graph, {}).kernels)
    EXPECT_EQ(kernel.schedule.find("resident"), std::string::npos) << kernel.schedule;
}

TEST(CpuSchedules, KeepTheColumnStatesOfSymbolicRows) {
  const Graph graph = parse(
      "graph g(x: f32[rows, columns], w: f32[columns]) {\n"
      " m = mean x {axes = [-1], keep = true}\n c = sub x, m\n y = mul c, w\n"
      " z = sum c {axes = [0]}\n return y, z\n}\n");
  for (const std::int64_t rows : {1, 5, 200}) {
    const Report report = expect_bits_of_gpu(graph, {{"rows", rows}, {"columns", 1500}});
    EXPECT_EQ(report.kernels.size(), 1U) << rows;
  }
}

}  // namespace
}  // namespace sinter::test::cpu_target_test
