// Cubins in the disk cache: a process that finds all of its kernels there opens no NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "runtime/cache/disk_cache.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile_service/compile_service.h"
#include "runtime/support/archive.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::unit_cache_nvrtc_test {
namespace {

using ::testing::HasSubstr;

CompileUnit unit(const std::string& entry) {
  const auto text = [](const std::string& name) {
    return "extern \"C\" __global__ void __launch_bounds__(32) " + name +
           "(const float* __restrict__ x, float* __restrict__ y) {\n"
           "  y[threadIdx.x] = x[threadIdx.x] + 1.0f;\n}\n";
  };
  return {{{.entry = entry, .text = text(entry), .code_key = text("kernel"), .threads = 32}}};
}

bool has_opened_nvrtc() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libnvrtc") != std::string::npos) return true;
  return false;
}

class UnitCacheNvrtc : public ::testing::Test {
 protected:
  CompileResult compile(const std::string& entry) {
    service = std::make_unique<CompileService>(*host_device().state());
    return service->compile(std::vector{unit(entry)}, settings)[0];
  }

  /// Runs `task` in a child process and returns its result.
  static int in_child(const std::function<int()>& task) {
    const pid_t child = fork();
    if (child == 0) _exit(task());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// Changes the cached identity of this machine's NVRTC; false if the cache has none.
  bool forge_identity() const {
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (file.path().extension() != ".entry") continue;
      const std::string hex =
          file.path().parent_path().filename().string() + file.path().stem().string();
      CacheName name;
      for (std::size_t i = 0; i < name.hash.size(); ++i)
        name.hash[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
      DiskCache disk(settings.cache);
      const auto contents = disk.find(name);
      std::string path, stamp, identity;
      bool is_fallback = false;
      try {
        ArchiveReader reader(*contents);
        reader(path, stamp, identity, is_fallback);
        reader.finish();
      } catch (const InvalidData&) {  // an entry of another kind
        continue;
      }
      if (path.find("nvrtc") == std::string::npos) continue;
      ArchiveWriter writer;
      writer(path, stamp, std::string("another compiler"), is_fallback);
      disk.store(name, writer.take());
      return true;
    }
    return false;
  }

  std::size_t count_entries() const {
    std::size_t count = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path()))
      count += file.path().extension() == ".entry";
    return count;
  }

  test::ScratchFolder folder;
  CompileSettings settings{
      .arch = "sm_90", .also_nvrtc = true, .cache = {.directory = folder.path() + "/cache"}};
  std::unique_ptr<CompileService> service;
};

/// A process that has read another compiler's identity from the cache stores nothing under that
/// identity. This test comes first, because a process caches the identity that it has read.
TEST_F(UnitCacheNvrtc, StoresNothingForAnotherCompiler) {
  if (has_opened_nvrtc()) GTEST_SKIP() << "an earlier test of this process has opened NVRTC";
  const int first = in_child([&] {
    compile("first");
    return nvrtc().nvrtc == nullptr ? 1 : 0;
  });
  if (first == 1) GTEST_SKIP() << "there is no NVRTC";
  const std::size_t entries = count_entries();
  ASSERT_TRUE(forge_identity());
  EXPECT_EQ(in_child([&] { return compile("second").was_cached ? 1 : 0; }), 0);
  EXPECT_EQ(count_entries(), entries);  // the identity is replaced, no kernel is stored
  EXPECT_EQ(in_child([&] { return compile("third").was_cached ? 0 : 1; }),
            0);  // the kernel of the first process
}

TEST_F(UnitCacheNvrtc, SecondProcessOpensNoNvrtc) {
  if (has_opened_nvrtc()) GTEST_SKIP() << "an earlier test of this process has opened NVRTC";
  const pid_t child = fork();
  if (child == 0) {
    const CompileResult first = compile("first");
    _exit(nvrtc().nvrtc == nullptr ? 2 : first.unit->cubins.empty() || first.was_cached ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "there is no NVRTC";
  ASSERT_EQ(status, 0);
  const CompileResult found = compile("second");
  EXPECT_TRUE(found.was_cached);
  EXPECT_EQ(service->counters().compiles, 0);
  EXPECT_FALSE(has_opened_nvrtc());
  EXPECT_GT(found.unit->cubins[0].registers, 0);
  EXPECT_THAT(found.unit->ptx, HasSubstr(".visible .entry first"));
  EXPECT_FALSE(found.unit->image.empty());
}

TEST_F(UnitCacheNvrtc, VerifiesCachedEntries) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  const CompileResult made = compile("first");
  settings.cache.verify = true;
  const CompileResult found = compile("second");
  EXPECT_TRUE(found.was_cached);
  EXPECT_EQ(found.unit->image, made.unit->image);
}

TEST_F(UnitCacheNvrtc, SeparatesArchitectures) {
  if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  compile("kernel");
  settings.arch = "sm_80";
  EXPECT_FALSE(compile("kernel").was_cached);
}

}  // namespace
}  // namespace sinter::unit_cache_nvrtc_test
