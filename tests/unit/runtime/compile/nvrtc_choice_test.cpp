// The choice among NVRTC libraries. Those of these tests are small libraries that the host compiler
// builds.
#include "runtime/compile/nvrtc_choice.h"

#include "runtime/compile/host_compiler.h"
#include "runtime/compile/nvrtc_units.h"
#include "sinter/error.h"
#include "tests/support/files/errors.h"
#include "tests/support/files/scratch_folder.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace sinter::nvrtc_choice_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

/// An NVRTC that compiles every program to PTX with its version in it.
constexpr const char* kLibrary = R"(
#define EXPORT extern "C" __attribute__((visibility("default")))
using Program = void*;
static const char kPtx[] = ".version of NVRTC {0}";
EXPORT int nvrtcVersion(int* major, int* minor) {{
  *major = {0} / 1000;
  *minor = {0} % 1000 / 10;
  return 0;
}}
EXPORT const char* nvrtcGetErrorString(int) {{ return "error"; }}
EXPORT int nvrtcGetNumSupportedArchs(int* count) {{ *count = 1; return 0; }}
EXPORT int nvrtcGetSupportedArchs(int* archs) {{ *archs = 90; return 0; }}
EXPORT int nvrtcCreateProgram(Program*, const char*, const char*, int, const char* const*,
                              const char* const*) {{ return 0; }}
EXPORT int nvrtcDestroyProgram(Program*) {{ return 0; }}
EXPORT int nvrtcCompileProgram(Program, int, const char* const*) {{ return 0; }}
EXPORT int nvrtcGetProgramLogSize(Program, unsigned long* bytes) {{ *bytes = 0; return 0; }}
EXPORT int nvrtcGetProgramLog(Program, char*) {{ return 0; }}
EXPORT int nvrtcGetCUBINSize(Program, unsigned long* bytes) {{ *bytes = 0; return 0; }}
EXPORT int nvrtcGetCUBIN(Program, char*) {{ return 0; }}
EXPORT int nvrtcGetPTXSize(Program, unsigned long* bytes) {{ *bytes = sizeof(kPtx); return 0; }}
EXPORT int nvrtcGetPTX(Program, char* text) {{
  for (unsigned long i = 0; i < sizeof(kPtx); ++i) text[i] = kPtx[i];
  return 0;
}}
)";

class NvrtcChoiceTest : public ::testing::Test {
 protected:
  /// Builds a library of version `version` and returns its path: `DIR/12020/libnvrtc.so.12`.
  std::string library(int version) const {
    const std::string path =
        fmt::format("{}/{}/libnvrtc.so.{}", folder_.path(), version, version / 1000);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    const HostImage image = HostCompiler().compile(fmt::format(kLibrary, version), {});
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(image.image.data()),
               static_cast<std::streamsize>(image.image.size()));
    return path;
  }
  /// The versions in the order of trial, if the driver refuses the output of all of them.
  static std::vector<int> order(NvrtcChoice& choice) {
    std::vector<int> versions;
    for (const Nvrtc* next = choice.current().nvrtc; next; next = choice.after(*next))
      versions.push_back(next->version());
    return versions;
  }

  test::ScratchFolder folder_;
};

TEST_F(NvrtcChoiceTest, TakesTheNewestThatTheDriverUnderstands) {
  const std::vector<std::string> files = {library(13000), library(12040), library(12090)};
  const auto order_for = [&](int driver) {
    NvrtcChoice choice(files, driver);
    return order(choice);
  };
  EXPECT_THAT(order_for(12020), ElementsAre(12090, 12040, 13000));
  EXPECT_THAT(order_for(13010), ElementsAre(13000, 12090, 12040));
  EXPECT_THAT(order_for(14000), ElementsAre(13000, 12090, 12040));
  EXPECT_THAT(order_for(/*no driver*/ 0), ElementsAre(13000, 12090, 12040));
}

TEST_F(NvrtcChoiceTest, SkipsFilesThatAreMissingOrDamaged) {
  const std::string damaged = folder_.path() + "/libnvrtc.so.13";
  std::ofstream(damaged) << "not a library";
  const std::string good = library(12040);
  NvrtcChoice choice({"/no/libnvrtc.so.13", damaged, "/no/libnvrtc.so.12", good, good}, 13000);
  EXPECT_THAT(order(choice), ElementsAre(12040));
}

TEST_F(NvrtcChoiceTest, ReportsTheFirstMissingLibrary) {
  NvrtcChoice choice({"/no/libnvrtc.so.13", "/no/libnvrtc.so.12"}, 12040);
  EXPECT_EQ(choice.current().nvrtc, nullptr);
  EXPECT_THAT(choice.current().reason, HasSubstr("NVRTC /no/libnvrtc.so.12 cannot be opened"));
  EXPECT_THAT(choice.current().reason, EndsWith("set SINTER_NVRTC to the library"));
}

TEST_F(NvrtcChoiceTest, AdvisesOnLibrariesThatAreTooNew) {
  const std::vector<std::string> files = {library(13000)};
  const auto advice_for = [&](int driver) {
    NvrtcChoice choice(files, driver);
    return choice.advice_on(*choice.current().nvrtc);
  };
  EXPECT_EQ(advice_for(12040),
            "; NVRTC 13.0 is newer than the driver, which is for CUDA 12.4: install a driver for "
            "CUDA 13 or later, or the Python wheel nvidia-cuda-nvrtc-cu12");
  EXPECT_EQ(advice_for(13000), "");
  EXPECT_EQ(advice_for(/*no driver*/ 0), "");
}

const std::vector<Source> kSources = {{.entry = "k", .text = "", .threads = 32}};

/// The load of a driver that understands only one version.
auto load_only(int version, std::vector<std::string>& loaded) {
  return [version, &loaded](const NvrtcUnit& unit) {
    loaded.push_back(unit.ptx);
    if (unit.ptx != fmt::format(".version of NVRTC {}", version))
      throw DriverError("cuModuleLoadData failed", cuda::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  };
}

TEST_F(NvrtcChoiceTest, CompilesWithTheNextLibraryIfTheDriverRefusesTheImage) {
  NvrtcChoice choice({library(13000), library(12040)}, 13000);
  std::vector<std::string> loaded;
  for (int run = 0; run < 2; ++run) {
    const NvrtcUnit unit =
        compile_and_load(choice, kSources, "compute_90", load_only(12040, loaded));
    EXPECT_EQ(unit.ptx, ".version of NVRTC 12040");
    EXPECT_EQ(unit.compiler->version(), 12040) << "a cache must not take it for output of 13.0";
  }
  EXPECT_THAT(loaded, ElementsAre(".version of NVRTC 13000", ".version of NVRTC 12040",
                                  ".version of NVRTC 12040"))
      << "the second run begins with the library that succeeded";
  EXPECT_EQ(choice.current().nvrtc->version(), 12040);
  EXPECT_TRUE(choice.is_fallback());
}

TEST_F(NvrtcChoiceTest, ReportsARefusalByAllLibraries) {
  NvrtcChoice choice({library(13000)}, 12040);
  std::vector<std::string> loaded;
  EXPECT_THAT(test::error_of<DriverError>([&] {
                compile_and_load(choice, kSources, "compute_90", load_only(12040, loaded));
              }),
              HasSubstr("cuModuleLoadData failed; NVRTC 13.0 is newer than the driver"));
  EXPECT_EQ(choice.current().nvrtc->version(), 13000);
}

/// A later process begins with the library that an earlier one ended with.
TEST_F(NvrtcChoiceTest, BeginsWithAPreferredLibrary) {
  const std::vector<std::string> files = {library(13000), library(12090), library(12040)};
  NvrtcChoice choice(files, 13000);
  EXPECT_FALSE(choice.is_fallback());
  choice.prefer(files[2]);
  EXPECT_TRUE(choice.is_fallback());
  EXPECT_THAT(order(choice), ElementsAre(12040, 13000, 12090));
  choice.prefer(files[1]);
  EXPECT_EQ(choice.current().nvrtc->version(), 12040) << "libraries are open already";
}

TEST_F(NvrtcChoiceTest, APreferredLibraryThatIsGoneIsSkipped) {
  NvrtcChoice choice({library(12040)}, 13000);
  choice.prefer("/no/libnvrtc.so.12");
  EXPECT_THAT(order(choice), ElementsAre(12040));
}

/// Another failure, such as exhausted memory, says nothing about the compiler.
TEST_F(NvrtcChoiceTest, TriesNoOtherLibraryAfterOtherFailures) {
  NvrtcChoice choice({library(13000), library(12040)}, 13000);
  int loads = 0;
  EXPECT_EQ(test::error_of<DriverError>([&] {
              compile_and_load(choice, kSources, "compute_90", [&](const NvrtcUnit&) {
                ++loads;
                throw DriverError("no memory", cuda::CUDA_ERROR_OUT_OF_MEMORY);
              });
            }),
            "no memory");
  EXPECT_EQ(loads, 1);
}

/// Sets an environment variable, and restores it at the end.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_.empty())
      unsetenv(name_);
    else
      setenv(name_, before_.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST_F(NvrtcChoiceTest, FindsToolkitsAndWheels) {
  const auto add = [&](const std::string& file) {
    const std::filesystem::path path = folder_.path() + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "here";
    return path.string();
  };
  const std::string toolkit = add("toolkit/lib64/libnvrtc.so.12");
  const std::string in_lib = add("toolkit/lib/libnvrtc.so.13");
#ifdef __aarch64__
  const std::string in_targets = add("toolkit/targets/sbsa-linux/lib/libnvrtc.so.13");
#else
  const std::string in_targets = add("toolkit/targets/x86_64-linux/lib/libnvrtc.so.13");
#endif
  const std::string wheel =
      add("venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const std::string wheel_13 =
      add("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const std::string conda = add("conda/lib/libnvrtc.so.12");
  const Variable none("SINTER_NVRTC", "");
  const Variable cuda_home("CUDA_HOME", folder_.path() + "/toolkit");
  const Variable venv("VIRTUAL_ENV", folder_.path() + "/venv");
  const Variable conda_prefix("CONDA_PREFIX", folder_.path() + "/conda");
  EXPECT_THAT(nvrtc_files(),
              IsSupersetOf({std::string("libnvrtc.so.13"), std::string("libnvrtc.so.12"), toolkit,
                            in_lib, in_targets, wheel, wheel_13, conda}));
  const Variable forced("SINTER_NVRTC", "/mine/libnvrtc.so");
  EXPECT_THAT(nvrtc_files(), ElementsAre("/mine/libnvrtc.so"));
}

}  // namespace
}  // namespace sinter::nvrtc_choice_test
