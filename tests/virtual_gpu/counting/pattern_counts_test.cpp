// The small golden patterns on virtual GPUs. The counted bytes and sectors of each launch are those
// that the plan predicts. Shared memory has few bank conflicts, and no array is in local memory.
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "codegen/emit.h"
#include "compiler/body_building/build_body.h"
#include "compiler/tiling/coalescing.h"
#include "ir/oracle/random_inputs.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/device/device_state.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/graphs/patterns.h"
#include "tests/support/run/run.h"
#include "tests/virtual_gpu/driver/virtual_driver.h"

namespace sinter::virtual_gpu::pattern_counts_test {
namespace {

using nlohmann::json;
// The interpreter has types of the same names.
using sinter::Kernel;
using sinter::Program;
using sinter::Schedule;

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/patterns";

/// A launch as the plan predicts it and as the virtual GPU counted it.
struct CountedLaunch {
  std::string name;  ///< pattern, architecture and kernel, for messages
  const Program& program;
  const Kernel& kernel;
  Source source;
  json counts;  ///< see driver/launch_counts.h

  std::int64_t count(const char* what, const char* which) const { return counts[what][which]; }
  /// Of loads and stores together.
  std::int64_t sum(const std::string& space, const char* which) const {
    return count((space + "_loads").c_str(), which) + count((space + "_stores").c_str(), which);
  }
  std::int64_t value(Extent extent) const { return evaluate(extent, program.facts.symbols); }
};

/// The GPU of `small`, of another architecture.
Target target_of(const test::Pattern& small, const std::string& arch) {
  Target target = small.target();
  if (target.arch == arch) return target;
  const Target other = *find_target(arch);
  target.arch = other.arch;
  target.compute_capability = other.compute_capability;
  target.max_cluster = other.max_cluster;
  target.shared_per_sm = other.shared_per_sm;
  target.shared_per_block_opt_in = other.shared_per_block_opt_in;
  return target;
}

/// The lines that the virtual GPU wrote, one per launch.
std::vector<json> read_lines(const std::string& file) {
  std::vector<json> result;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) result.push_back(json::parse(line));
  return result;
}

/// Runs `pattern` in its small size, and visits each launch.
template <class Visit>
void run_pattern(const test::Pattern& pattern, const std::string& arch, const Visit& visit) {
  const test::Pattern small = test::small_pattern(pattern);
  const Target target = target_of(small, arch);
  const test::ScratchFolder folder;
  const std::string file = folder.path() + "/counts.json";
  // The chips of patterns are small in proportion, but the clusters of a plan have up to 8 blocks.
  const std::string gpu = fmt::format("{} sms={}", arch, std::max(target.sm_count, 8));
  const driver::VirtualDriver driver(
      {{"VIRTUAL_GPUS", gpu.c_str()}, {"VIRTUAL_GPU_COUNTS", file.c_str()}});
  DeviceState device(*driver.operator->(), 0);
  device.target = target;
  const Graph graph = small.graph();
  std::vector<NamedSize> named;
  for (const auto& [name, value] : small.sizes) named.push_back({name, value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, named);
  test::run_graph(graph, Device(&device), random_inputs(graph, symbols, 1),
                  {.symbols = symbols, .options = {.tune = Tune::off, .ptx = true}});
  const Program program = plan(graph, target, {.symbols = symbols});
  const std::vector<json> counts = read_lines(file);
  ASSERT_EQ(counts.size(), program.kernels.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Kernel& kernel = program.kernels[i];
    visit(CountedLaunch{.name = fmt::format("{} on {}: {}", pattern.name, arch, kernel.name),
                        .program = program,
                        .kernel = kernel,
                        .source = emit(program, kernel, kernel.schedule, kernel.name),
                        .counts = counts[i]});
  }
}

/// The distinct bytes that a launch reads: an array counts at most once, in each of its elements.
/// The workspace is read once.
std::int64_t distinct_bytes_read(const CountedLaunch& launch) {
  std::map<int, std::int64_t> of_array;
  std::int64_t of_all = 0;
  const std::vector<Buffer>& buffers = launch.program.buffers;
  for (const auto& [index, bytes] : launch.source.bytes_read_of) {
    const Buffer& buffer = buffers[static_cast<std::size_t>(index)];
    of_array[buffer.parent < 0 ? index : buffer.parent] += launch.value(bytes);
    of_all += launch.value(bytes);
  }
  std::int64_t distinct = launch.value(launch.source.traffic.bytes_read) - of_all;
  for (const auto& [index, read] : of_array)
    distinct += std::min(
        read, bytes_of(buffers[static_cast<std::size_t>(index)], launch.program.facts.symbols));
  return distinct;
}

/// The plan counts the bytes of arrays and of the workspace. It leaves out a table in memory and
/// the tickets, which are a few words for each block at most.
void expect_bytes(const CountedLaunch& launch) {
  const Traffic& traffic = launch.source.traffic;
  const std::int64_t tickets = 4 * launch.value(launch.source.tickets);
  const auto table = static_cast<std::int64_t>(8 * table_values_in_memory(launch.source));
  const std::int64_t read = distinct_bytes_read(launch);
  const std::int64_t counted_read = launch.count("global_loads", "unique_bytes");
  EXPECT_LE(counted_read, read + table + tickets);
  if (!traffic.is_bound) {
    EXPECT_GE(counted_read, read);
    EXPECT_GE(launch.count("global_loads", "bytes"), launch.value(traffic.bytes_read));
  }
  const std::int64_t written = launch.value(traffic.bytes_written);
  const std::int64_t counted_written = launch.count("global_stores", "unique_bytes");
  EXPECT_LE(counted_written, written + tickets);
  if (!traffic.writes_are_bound) {
    EXPECT_GE(counted_written, written);
  }
}

/// True if the launch ends within a warp whose threads compute several vectors. That warp executes
/// two texts, for threads with all and with some of their vectors, and so splits its requests.
bool has_split_warp(const CountedLaunch& launch) {
  const Schedule& schedule = launch.kernel.schedule;
  return schedule.tile == 0 && schedule.unroll > 1 &&
         launch.value(iterations(launch.kernel)) % (std::int64_t{32} * schedule.vector) != 0;
}

void expect_sectors(const CountedLaunch& launch) {
  constexpr std::int64_t kAllWarps = std::int64_t{1} << 40;
  if (launch.kernel.kind != KernelKind::pointwise) return;
  const Body body = body_of(launch.program, launch.kernel);
  const Sectors sectors = sectors_of(body, launch.kernel.schedule, launch.program.facts, kAllWarps);
  const auto requested = static_cast<double>(launch.sum("global", "transactions"));
  const auto fewest = static_cast<double>(launch.sum("global", "fewest"));
  const double split =
      has_split_warp(launch) ? static_cast<double>(body.values.size() + body.stores.size()) : 0;
  EXPECT_GE(requested, sectors.requested);
  EXPECT_LE(requested, sectors.requested + split);
  EXPECT_GE(fewest, sectors.minimum);
  EXPECT_LE(fewest, sectors.minimum + split);
}

void expect_few_conflicts(const CountedLaunch& launch) {
  EXPECT_LE(launch.sum("shared", "transactions"), 2 * launch.sum("shared", "fewest"));
}

class PatternCounts : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(PatternCounts, AreAsPredicted) {
  for (const auto& [form, pattern] : test::one_of_each_form(GetParam()))
    for (const char* const arch : {"sm_90", "sm_80"})
      run_pattern(pattern, arch, [](const CountedLaunch& launch) {
        SCOPED_TRACE(launch.name + ": " + launch.counts.dump());
        expect_bytes(launch);
        expect_sectors(launch);
        expect_few_conflicts(launch);
        EXPECT_EQ(launch.counts["local_accesses"], 0);
      });
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& test) {
  return test.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Patterns, PatternCounts, testing::ValuesIn(test::golden_graphs(kFolder)),
                         name_of);

}  // namespace
}  // namespace sinter::virtual_gpu::pattern_counts_test
