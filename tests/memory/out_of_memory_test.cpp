// Makes each allocation of a scenario fail. The caller gets an out-of-memory error or correct
// results. Nothing leaks or hangs, and the next run is unaffected.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/device_state.h"
#include "runtime/device/staging.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/support/background_thread.h"
#include "sinter/sinter.h"
#include "sinter/text.h"
#include "tests/memory/failing_new.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRows = 16;
constexpr std::int64_t kColumns = 64;
constexpr int kTimes = 4;
constexpr unsigned kMostSeconds = 60;  // of one run; a longer one counts as hung

/// Installs a compiler with a cache, because thousands of runs compile the same few kernels.
void remember_compiled(const std::string& folder) {
  const std::string path = folder + "/c++";
  std::ofstream(path) << "#!/bin/sh\n"
                         "[ -f kernels.cpp ] || exec c++ \"$@\"\n"
                         "known=$(dirname \"$0\")/$({ echo \"$@\"; cat kernels.cpp; } | "
                         "sha256sum | cut -c1-64)\n"
                         "[ -f $known ] || { c++ \"$@\" && mv kernels.so $known.$$ && "
                         "mv $known.$$ $known; } || exit 1\n"
                         "cp $known kernels.so\n";
  fs::permissions(path, fs::perms::owner_all);
  setenv("SINTER_HOST_CXX", path.c_str(), 1);
}

Graph record() {
  Graph graph("life");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", f32, {rows, kColumns});
  const Tensor steps = graph.input("steps", f32, {});
  const Tensor s = softmax(x);
  graph.output("total", sum(s));
  graph.output("columns", sum(s * 2.0, {0}));
  graph.update(steps, steps + 1.0);
  return graph;
}

/// The results of a scenario. They are compared bit by bit.
using Bits = std::vector<float>;

/// Binds new arrays and runs or replays twice: with x, then with a copy of it.
Bits use(const Executable& executable, bool as_graph) {
  const Device device = executable.device();
  const Stream stream = device.stream();
  Context context = executable.context();
  const Array x = device.empty(f32, {kRows, kColumns});
  const Array other = device.empty(f32, {kRows, kColumns});
  const Array steps = device.empty(f32, {});
  const Array total = device.empty(f32, {});
  const Array columns = device.empty(f32, {kColumns});
  std::vector<float> values(kRows * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) / 50;
  device.upload(x, values, stream);
  device.upload(steps, Bits{0}, stream);
  device.copy(x, other, stream);
  for (const Array& each : {x, other}) {
    const std::vector<Binding> inputs = {{"x", each}, {"steps", steps}};
    const std::vector<Binding> outputs = {{"total", total}, {"columns", columns}};
    as_graph ? context.replay(stream, inputs, outputs) : context.run(stream, inputs, outputs);
  }
  Bits bits = device.download<float>(columns, stream);
  for (const Array& each : {total, steps}) bits.push_back(device.download<float>(each, stream)[0]);
  return bits;
}

/// Waits for background work, which refers to the device.
struct AwaitBackground {
  ~AwaitBackground() { BackgroundThread::process_wide().wait(); }
};

class OutOfMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new ScratchFolder;
    remember_compiled(folder->path());
    unsetenv("SINTER_CACHE");
  }
  static void TearDownTestSuite() { delete folder; }
  void TearDown() override { alarm(0); }

  static Options options(CacheMode mode = CacheMode::read_write, Tune tune = Tune::off) {
    return {.tune = tune,
            .cache = {.mode = mode, .directory = folder->path() + "/cache"},
            .optimize_host = false};
  }
  /// Compiles and runs on a new device, so no kernel is loaded yet.
  static Bits compile_and_run(const Options& how) {
    DeviceState device(host::host_driver(), 0);
    const AwaitBackground before_it_goes;
    return use(compile(record(), Device(&device), how), /*as_graph=*/false);
  }

  /// Outcomes of the runs.
  struct Counts {
    int runs = 0, errors = 0, survived = 0, device_failures = 0;
  };
  /// Runs `scenario` with allocation `n` failing, and once more without failures. Repeats both
  /// while memory grows.
  static void fail_allocation_in(const std::function<Bits()>& scenario, std::int64_t n, Failing how,
                                 const Bits& expected, Counts& counts);
  static void fail_allocations_in(const char* name, const std::function<Bits()>& scenario,
                                  std::int64_t every, int samples);

  static inline ScratchFolder* folder = nullptr;
};

/// True if an allocation failed while the device was executing. As after a fault, the device then
/// refuses all work.
bool has_device_failed() {
  try {
    host_device().synchronize();
    return false;
  } catch (const DriverError&) {
    return true;
  }
}

/// "" if `scenario` gives the expected bits or an out-of-memory error.
std::string why_wrong(const std::function<Bits()>& scenario, const Bits& expected,
                      bool& has_thrown) {
  has_thrown = true;
  try {
    const Bits bits = scenario();
    has_thrown = false;
    const bool is_same = bits.size() == expected.size() &&
                         std::memcmp(bits.data(), expected.data(), 4 * bits.size()) == 0;
    return is_same ? "" : "other bits, and no error";
  } catch (const std::bad_alloc&) {
    return "";
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return text.find("OUT_OF_MEMORY") != text.npos ? "" : "an error of another kind: " + text;
  }
}

void OutOfMemory::fail_allocation_in(const std::function<Bits()>& scenario, std::int64_t n,
                                     Failing how, const Bits& expected, Counts& counts) {
  alarm(kMostSeconds);
  LiveMemory grown{};
  // Tables of the process grow occasionally. Memory that grows each time has leaked.
  for (int time = 0; time < kTimes; ++time) {
    const LiveMemory before = live_memory();
    bool has_thrown = false;
    fail_allocation(n, how);
    const std::string wrong = why_wrong(scenario, expected, has_thrown);
    const bool has_failed = stop_failing().has_failed;
    ASSERT_EQ(wrong, "") << "allocation " << n;
    ++counts.runs;
    counts.errors += has_thrown;
    counts.survived += has_failed && !has_thrown;
    counts.device_failures += has_device_failed();
    host::clear_error();
    ASSERT_EQ(scenario(), expected) << "in the run after the failure of allocation " << n;
    host::reset_counters();
    const LiveMemory after = live_memory();
    if (after.blocks <= before.blocks) return;
    grown = {after.blocks - before.blocks, after.bytes - before.bytes};
  }
  ADD_FAILURE() << "allocation " << n << ": " << grown.blocks << " blocks of " << grown.bytes
                << " bytes leak";
}

/// Fails each of the first `every` allocations, and about `samples` of the later ones. For every
/// fifth one, a second check also fails all later allocations.
void OutOfMemory::fail_allocations_in(const char* name, const std::function<Bits()>& scenario,
                                      std::int64_t every, int samples) {
  const Bits expected = scenario();
  ASSERT_EQ(scenario(), expected);
  host::reset_counters();
  fail_allocation(INT64_MAX);
  ASSERT_EQ(scenario(), expected);
  const std::int64_t all = stop_failing().allocations;
  std::set<std::int64_t> numbers;
  for (std::int64_t n = 1; n <= std::min(all, every); ++n) numbers.insert(n);
  std::mt19937_64 random(11);
  for (int i = 0; all > every && i < samples; ++i)
    numbers.insert(every + 1 +
                   static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(all - every)));
  Counts once, from_then_on;
  for (const std::int64_t n : numbers) {
    fail_allocation_in(scenario, n, Failing::once, expected, once);
    if (HasFatalFailure()) return;
    if (n % 5 != 0) continue;
    fail_allocation_in(scenario, n, Failing::from_then_on, expected, from_then_on);
    if (HasFatalFailure()) return;
  }
  for (const auto& [how, counts] :
       {std::pair{"one fails", once}, {"all later ones fail", from_then_on}})
    std::printf(
        "%s: %lld allocations, %s: %d runs, %d errors, %d succeeded anyway, "
        "%d device failures\n",
        name, static_cast<long long>(all), how, counts.runs, counts.errors, counts.survived,
        counts.device_failures);
}

TEST_F(OutOfMemory, RecordingSurvives) {
  fail_allocations_in(
      "record", [] { return Bits{static_cast<float>(print(record()).size())}; }, 2000, 0);
}

TEST_F(OutOfMemory, CompilingWithTheCacheSurvives) {
  fail_allocations_in(
      "compile", [] { return compile_and_run(options()); }, 3000, 500);
}

TEST_F(OutOfMemory, CompilingSurvives) {
  fail_allocations_in(
      "compile without a cache", [] { return compile_and_run(options(CacheMode::off)); }, 0, 150);
}

TEST_F(OutOfMemory, TuningSurvives) {
  compile_and_run(options(CacheMode::read_write, Tune::quick));  // so that all are compiled
  fail_allocations_in(
      "tune", [] { return compile_and_run(options(CacheMode::read_only, Tune::wide)); }, 0, 50);
}

TEST_F(OutOfMemory, BackgroundCompilationSurvives) {
  Options soon = options(CacheMode::read_write, Tune::quick);
  soon.never_stall = true;
  fail_allocations_in(
      "background", [&] { return compile_and_run(soon); }, 0, 300);
}

TEST_F(OutOfMemory, RunAndReplaySurvive) {
  DeviceState device(host::host_driver(), 0);
  const Executable executable = compile(record(), Device(&device), options());
  fail_allocations_in(
      "run", [&] { return use(executable, /*as_graph=*/false); }, 2000, 500);
  fail_allocations_in(
      "replay", [&] { return use(executable, /*as_graph=*/true); }, 2000, 500);
}

/// The first call in a thread allocates the thread-local state.
TEST_F(OutOfMemory, FirstRunInAThreadSurvives) {
  DeviceState device(host::host_driver(), 0);
  const Device on(&device);
  const Executable executable = compile(record(), on, options());
  const Stream stream = on.stream();
  Context context = executable.context();
  const Array x = on.empty(f32, {kRows, kColumns}), steps = on.empty(f32, {});
  const Array total = on.empty(f32, {}), columns = on.empty(f32, {kColumns});
  const Bindings bindings =
      context.bind({{"x", x}, {"steps", steps}}, {{"total", total}, {"columns", columns}});
  context.run(stream, bindings);
  stream.synchronize();
  int failed = 0, thrown = 0;
  for (std::int64_t n = 1; n <= 40; ++n) {
    std::thread([&] {
      fail_allocation(n);
      try {
        context.run(stream, bindings);
      } catch (const std::bad_alloc&) {
        ++thrown;
      } catch (const DriverError&) {
        ++thrown;
      }
      failed += stop_failing().has_failed;
    }).join();
    stream.synchronize();
  }
  EXPECT_GT(failed, 0);
  EXPECT_LE(thrown, failed);
}

TEST_F(OutOfMemory, MemoryPoolAndStagingSurvive) {
  DeviceState device(host::host_driver(), 0);
  const Executable executable = compile(record(), Device(&device), options());
  device.memory_pool->set_idle_limit(1 << 20);
  device.staging->set_limits({.buffer_bytes = 1024, .buffers = 2, .least_bytes = 1000});
  fail_allocations_in(
      "run in a pool",
      [&] {
        const Bits first = use(executable, /*as_graph=*/false);
        const Bits second = use(executable, /*as_graph=*/true);  // reuses the memory of the first
        Device(&device).trim();
        return first == second ? first : Bits{};
      },
      2000, 300);
}

TEST_F(OutOfMemory, ProfilingSurvives) {
  DeviceState device(host::host_driver(), 0);
  const Executable executable = compile(record(), Device(&device), options());
  fail_allocations_in(
      "profile",
      [&] {
        const Device on(&device);
        const Array x = on.empty(f32, {kRows, kColumns});
        const Array steps = on.empty(f32, {});
        const Array total = on.empty(f32, {});
        const Array columns = on.empty(f32, {kColumns});
        Context context = executable.context();
        const Profile profile =
            sinter::profile(context, {{"x", x}, {"steps", steps}},
                            {{"total", total}, {"columns", columns}}, {.repeats = 1});
        return Bits{static_cast<float>(profile.kernels.size())};
      },
      1000, 300);
}

TEST_F(OutOfMemory, SavingAndLoadingSurvive) {
  DeviceState device(host::host_driver(), 0);
  const Stream stream = Device(&device).stream();
  const Array x = Device(&device).empty(f32, {kRows, kColumns});
  const Array steps = Device(&device).empty(f32, {});
  Device(&device).upload(x, Bits(kRows * kColumns, 1.0F), stream);
  Device(&device).upload(steps, Bits{0}, stream);
  stream.synchronize();
  // A load maps x, and copies steps because the program updates it.
  const Executable executable =
      compile(record(), Device(&device), options()).with_weights({{"x", x}, {"steps", steps}});
  executable.prepare({{"rows", kRows}});
  const std::string file = folder->path() + "/life.sinterx";
  fail_allocations_in(
      "save",
      [&] {
        executable.save(file);
        return Bits{static_cast<float>(fs::file_size(file))};
      },
      0, 150);
  fail_allocations_in(
      "load", [&] { return use(load(file, Device(&device)), /*as_graph=*/false); }, 1500, 500);
}

}  // namespace
}  // namespace sinter::test
