// Compiled units in the disk cache: other processes find them, damaged entries are replaced, and
// SINTER_VERIFY=cache compiles entries again and compares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "runtime/cache/compiler_identity.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "tests/support/files/command.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/run/run.h"

namespace sinter::unit_cache_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A kernel that stores `value`. Its name is not part of its code key.
Source store_kernel(const std::string& entry, const std::string& value) {
  const auto text = [&](const std::string& name) {
    return "extern \"C\" __global__ void " + name + "(float* __restrict__ y_out) {\n" +
           "  store(y_out, 0, " + value + ");\n}\n";
  };
  return {.entry = entry,
          .text = text(entry),
          .code_key = text("kernel"),
          .arguments = {{.kind = Argument::Kind::buffer, .c_type = "float*"}},
          .threads = 1};
}

CompileUnit unit(const std::string& entry, const std::string& value) {
  return {{store_kernel(entry, value), store_kernel(entry + "_b", value + " + 1.0f")}};
}

class UnitCacheTest : public ::testing::Test {
 protected:
  /// Compiles with an empty in-memory cache, like a new process.
  std::vector<CompileResult> compile(const std::vector<CompileUnit>& units) {
    services.push_back(std::make_unique<CompileService>(state));
    return services.back()->compile(units, settings);
  }
  std::int64_t compiles() const { return services.back()->counters().compiles; }
  /// The value that a function of the unit stores.
  float stored_by(const CompileResult& compiled, std::size_t function = 0) const {
    const Array y = host_device().empty(f32, {1});
    const CurrentContext current(state);
    void* pointer = y.pointer();
    void* arguments[] = {&pointer, nullptr};
    const CUlaunchConfig launch{.gridDimX = 1,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 1,
                                .blockDimY = 1,
                                .blockDimZ = 1};
    check(state.driver,
          state.driver.cuLaunchKernelEx(&launch, compiled.unit->functions[function].handle,
                                        arguments, nullptr),
          "cuLaunchKernelEx", "a test");
    state.driver.cuCtxSynchronize();
    return host_device().download<float>(y, host_device().stream())[0];
  }
  static Report compile_here(const Graph& graph, const Options& options) {
    return sinter::compile(graph, host_device(), options).report();
  }
  std::vector<fs::path> files(const std::string& extension) const {
    std::vector<fs::path> result;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path()))
      if (entry.path().extension() == extension) result.push_back(entry.path());
    return result;
  }

  /// Reads the compiler's identity now, so that the tests' caches do not store it as an entry.
  void SetUp() override { host_compiler(disk_cache({.mode = CacheMode::off})); }

  DeviceState& state = *host_device().state();
  test::ScratchFolder folder;
  CompileSettings settings{.cache = {.directory = folder.path() + "/cache"}};
  std::vector<std::unique_ptr<CompileService>> services;
};

TEST_F(UnitCacheTest, SharesUnitsAcrossProcessesDespiteNames) {
  const std::vector<CompileResult> first = compile({unit("one", "1.0f"), unit("two", "2.0f")});
  EXPECT_EQ(compiles(), 1);
  EXPECT_FALSE(first[0].was_cached);
  EXPECT_EQ(files(".entry").size(), 3U);  // two units and their object file
  EXPECT_EQ(files(".cu").size(), 1U);

  const std::vector<CompileResult> again = compile({unit("due", "2.0f"), unit("uno", "1.0f")});
  EXPECT_EQ(compiles(), 0);
  EXPECT_TRUE(again[0].was_cached);
  EXPECT_EQ(stored_by(again[0]), 2.0f);
  EXPECT_EQ(stored_by(again[0], 1), 3.0f);
  EXPECT_EQ(stored_by(again[1]), 1.0f);
  EXPECT_EQ(again[0].unit->module, again[1].unit->module) << "an object is loaded once";
}

TEST_F(UnitCacheTest, CompilesOnlyMissingUnits) {
  compile({unit("one", "1.0f")});
  const std::vector<CompileResult> results = compile({unit("one", "1.0f"), unit("two", "2.0f")});
  EXPECT_EQ(compiles(), 1);
  EXPECT_TRUE(results[0].was_cached);
  EXPECT_FALSE(results[1].was_cached);
  EXPECT_EQ(stored_by(results[0]), 1.0f);
  EXPECT_EQ(stored_by(results[1]), 2.0f);
}

TEST_F(UnitCacheTest, SeparatesSettings) {
  compile({unit("one", "1.0f")});
  settings.host.optimize = false;
  EXPECT_FALSE(compile({unit("one", "1.0f")})[0].was_cached);
  settings.host.count = true;
  EXPECT_FALSE(compile({unit("one", "1.0f")})[0].was_cached);
  EXPECT_TRUE(compile({unit("one", "1.0f")})[0].was_cached);
}

/// Removes, truncates, empties or modifies each file of the cache in turn.
TEST_F(UnitCacheTest, ReplacesDamagedEntries) {
  compile({unit("one", "1.0f"), unit("two", "2.0f")});
  const std::vector<fs::path> entries = files(".entry");
  ASSERT_EQ(entries.size(), 3U);
  const std::string sound = folder.path() + "/sound";
  fs::copy(settings.cache.directory, sound, fs::copy_options::recursive);
  for (const fs::path& entry : entries)
    for (const int way : {0, 1, 2, 3}) {
      fs::remove_all(settings.cache.directory);
      fs::copy(sound, settings.cache.directory, fs::copy_options::recursive);
      if (way == 0) fs::remove(entry);
      if (way == 1) fs::resize_file(entry, fs::file_size(entry) / 2);
      if (way == 2) fs::resize_file(entry, 0);
      if (way == 3) {
        std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(fs::file_size(entry)) - 1);
        file.put('!');
      }
      services.clear();  // also unloads the modules
      const std::vector<CompileResult> results =
          compile({unit("one", "1.0f"), unit("two", "2.0f")});
      EXPECT_EQ(stored_by(results[0]), 1.0f) << entry << " " << way;
      EXPECT_EQ(stored_by(results[1]), 2.0f) << entry << " " << way;
      compile({unit("one", "1.0f"), unit("two", "2.0f")});
      EXPECT_EQ(compiles(), 0) << entry << " " << way;
    }
}

TEST_F(UnitCacheTest, RecompilesUnitsThatDoNotLoad) {
  compile({unit("one", "1.0f")});
  services.clear();
  host::inject_fault("cuModuleLoadData", 1, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(stored_by(compile({unit("one", "1.0f")})[0]), 1.0f);
  EXPECT_EQ(compiles(), 1);
  const DiskCounters counters = disk_cache(settings.cache).counters();
  EXPECT_EQ(counters.reasons.back().text, "the entry cannot be loaded");
  EXPECT_THAT(counters.last_failure, HasSubstr("CUDA_ERROR_INVALID_IMAGE"));
}

/// A failure of the device is no reason to remove valid entries.
TEST_F(UnitCacheTest, KeepsEntriesWhenTheDeviceFails) {
  compile({unit("one", "1.0f")});
  services.clear();
  const std::size_t entries = files(".entry").size();
  host::inject_fault("cuModuleLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(test::error_of<DriverError>([&] { compile({unit("one", "1.0f")}); }),
              HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(files(".entry").size(), entries);
  EXPECT_EQ(stored_by(compile({unit("one", "1.0f")})[0]), 1.0f);
  EXPECT_EQ(compiles(), 0);
}

TEST_F(UnitCacheTest, StoresNothingIfCompilationFails) {
  EXPECT_THAT(test::error_of<CompileError>([&] { compile({unit("broken", "undefined_name")}); }),
              HasSubstr("broken"));
  EXPECT_EQ(files(".cu").size(), 0U);
}

TEST_F(UnitCacheTest, VerifiesEntries) {
  compile({unit("one", "1.0f")});
  compile({unit("two", "2.0f")});
  services.clear();
  settings.cache.verify = true;
  EXPECT_EQ(stored_by(compile({unit("one", "1.0f")})[0]), 1.0f);
  services.clear();
  // Replaces the source of one entry by that of the other.
  const std::vector<fs::path> sources = files(".cu");
  ASSERT_EQ(sources.size(), 2U);
  const auto source_of = [&](const std::string& kernel) {
    for (const fs::path& source : sources)
      if (test::read_text(source).find("void " + kernel + "(") != std::string::npos) return source;
    return fs::path();
  };
  const fs::path exchanged = source_of("one");
  fs::copy_file(source_of("two"), exchanged, fs::copy_options::overwrite_existing);
  EXPECT_THAT(
      test::error_of<CompileError>([&] { compile({unit("one", "1.0f")}); }),
      AllOf(
          StartsWith("SINTER_VERIFY=cache: of kernel one, " + settings.cache.directory),
          HasSubstr(".entry has something else than the compiler makes of its source; remove it")));
  fs::remove(exchanged);
  services.clear();
  EXPECT_THAT(test::error_of<CompileError>([&] { compile({unit("one", "1.0f")}); }),
              HasSubstr("no source beside it"));
}

TEST_F(UnitCacheTest, ReportsDiskCacheCounters) {
  Graph graph("add_one");
  const Tensor x = graph.input("x", f32, {8});
  graph.output("y", x + 1);
  Options options{.tune = Tune::off, .cache = settings.cache};
  setenv("SINTER_CACHE", "read_write", 1);
  const Report report = compile_here(graph, options);
  setenv("SINTER_CACHE", "off", 1);
  EXPECT_EQ(report.disk.directory, settings.cache.directory);
  EXPECT_EQ(report.disk.why_off, "");
  EXPECT_EQ(report.disk.misses, 1);
  EXPECT_EQ(report.disk.stored, 2);  // the kernel and its object file
  EXPECT_EQ(report.disk.reasons[0].text, "there is no such entry");
  EXPECT_EQ(compile_here(graph, options).disk.why_off, "it was turned off");
}

/// The command with a disk cache. `cxx` is a compiler wrapper that logs its runs.
class CachedCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::command_path().empty()) GTEST_SKIP() << "this build has no command";
    std::ofstream(folder.path() + "/cxx")
        << "#!/bin/sh\necho \"$*\" >>" << folder.path() << "/log\nexec c++ \"$@\"\n";
    fs::permissions(folder.path() + "/cxx", fs::perms::owner_all);
    std::ofstream(folder.path() + "/norm.sinter") << R"(
graph norm(x: f32[37, 96]) {
  m = mean x {axes = [-1], keep = true}
  d = sub x, m
  t = tanh d
  return d, t
})";
  }
  test::CommandResult run(const std::string& line) {
    return test::run_command(
        "export SINTER_CACHE=read_write SINTER_CACHE_DIR=$PWD/cache "
        "SINTER_HOST_CXX=$PWD/cxx\n" +
            line,
        folder.path());
  }
  int compiler_runs() const {
    return static_cast<int>(std::ranges::count(test::read_text(folder.path() + "/log"), '\n'));
  }
  int kernel_compilations() const {
    std::ifstream log(folder.path() + "/log");
    int kernels = 0;
    for (std::string line; std::getline(log, line);)
      kernels += line.find("kernels.cpp") != std::string::npos;
    return kernels;
  }
  static constexpr const char* kRun = "sinter run norm.sinter --device host --json";

  test::ScratchFolder folder;
};

TEST_F(CachedCommandTest, SecondProcessRunsNoCompiler) {
  const test::CommandResult first = run(kRun);
  EXPECT_EQ(first.exit_code, 0) << first.output;
  EXPECT_EQ(compiler_runs(), 2);  // one for the compiler's identity, one for the kernel
  const test::CommandResult second = run(kRun);
  EXPECT_EQ(second.output, first.output);
  EXPECT_EQ(compiler_runs(), 2);
}

/// A ccache binary stays the same when its compiler changes.
TEST_F(CachedCommandTest, IdentifiesWrappedCompilersEachTime) {
  const fs::path wrapper = folder.path() + "/my-ccache";
  fs::copy(folder.path() + "/cxx", wrapper);
  const std::string line = "SINTER_HOST_CXX=$PWD/my-ccache " + std::string(kRun);
  EXPECT_EQ(run(line).exit_code, 0);
  EXPECT_EQ(compiler_runs(), 2);
  EXPECT_EQ(run(line).exit_code, 0);
  EXPECT_EQ(compiler_runs(), 3);  // the compiler's identity
}

TEST_F(CachedCommandTest, TwoConcurrentProcessesCompileOnce) {
  const test::CommandResult both =
      run(std::string(kRun) + " >one & " + kRun + " >two; wait; cmp one two");
  EXPECT_EQ(both.exit_code, 0) << both.output;
  EXPECT_EQ(kernel_compilations(), 1);
}

/// The second process finds no entry, waits for the lock of the first, and looks again. The
/// compiler runs until the file `go` exists.
TEST_F(CachedCommandTest, LooksAgainAfterWaitingForALock) {
  std::ofstream(folder.path() + "/cxx")
      << "#!/bin/sh\necho \"$*\" >>" << folder.path() << "/log\n"
      << "case \"$*\" in *kernels.cpp*)\n"
      << "  for i in $(seq 1000); do [ -e " << folder.path() << "/go ] || sleep 0.02; done;;\n"
      << "esac\nexec c++ \"$@\"\n";
  const test::CommandResult both = run(
      std::string(kRun) +
      " >one &\nfor i in $(seq 1000); do grep -qs kernels.cpp log && break; sleep 0.02; done\n" +
      kRun + " >two & sleep 1; touch go; wait; cmp one two");
  EXPECT_EQ(both.exit_code, 0) << both.output;
  EXPECT_EQ(kernel_compilations(), 1);
}

TEST_F(CachedCommandTest, RejectsInvalidSettings) {
  EXPECT_THAT(run(std::string("SINTER_CACHE=on ") + kRun).output,
              HasSubstr("SINTER_CACHE=on: expected off, read_only or read_write"));
  EXPECT_THAT(run(std::string("SINTER_CACHE_BYTES=1G ") + kRun).output,
              HasSubstr("SINTER_CACHE_BYTES=1G: expected a number of bytes"));
  EXPECT_THAT(run(std::string("SINTER_VERIFY=all ") + kRun).output,
              HasSubstr("SINTER_VERIFY=all: expected off or cache"));
}

}  // namespace
}  // namespace sinter::unit_cache_test
