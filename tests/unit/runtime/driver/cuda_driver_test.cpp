// Opening the CUDA driver when it is missing, too old, broken or without a device. The drivers of
// these tests are small libraries that the host compiler builds.
#include "runtime/driver/cuda_driver.h"

#include "runtime/compile/host_compiler.h"
#include "runtime/driver/host/host_driver.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace sinter::cuda_driver_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CudaDriverTest : public ::testing::Test {
 protected:
  CudaDriverTest() : folder_((std::filesystem::temp_directory_path() / "driver-XXXXXX").string()) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~CudaDriverTest() override { std::filesystem::remove_all(folder_); }

  /// Opens a driver library built from `text`, which may use EXPORT.
  CudaDriver open(const std::string& text) {
    const std::string unit =
        "#define EXPORT extern \"C\" __attribute__((visibility(\"default\")))\n" + text;
    const HostImage image = HostCompiler().compile(unit, {});
    const std::string path = folder_ + "/libcuda.so";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(image.image.data()),
               static_cast<std::streamsize>(image.image.size()));
    return open_cuda_driver(path);
  }

  std::string folder_;
};

/// The source of a driver of version `version` in which every call succeeds. It lacks the call
/// `missing`; cuInit returns `init`, and cuDeviceGetCount gives `devices`.
std::string fake_driver(int version, const char* missing, int init, int devices) {
  return "static const int kInit = " + std::to_string(init) +
         ", kDevices = " + std::to_string(devices) + ", kVersion = " + std::to_string(version) +
         ";\nstatic const char* kMissing = \"" + missing + "\";\n" + R"(
static bool same(const char* a, const char* b) {
  for (; *a && *a == *b; ++a) ++b;
  return *a == *b;
}
EXPORT int cuDriverGetVersion(int* version) { *version = kVersion; return 0; }
static int init(unsigned) { return kInit; }
static int count(int* devices) { *devices = kDevices; return 0; }
static int name(int, const char** text) { *text = "CUDA_ERROR_NO_DEVICE"; return 0; }
static int text(int, const char** text) { *text = "no device"; return 0; }
static int succeed() { return 0; }
EXPORT int cuGetProcAddress_v2(const char* symbol, void** address, int, unsigned long long,
                               int* found) {
  const bool is_missing = same(symbol, kMissing);
  *found = is_missing;
  *address = is_missing ? nullptr
             : same(symbol, "cuInit") ? (void*)init
             : same(symbol, "cuDeviceGetCount") ? (void*)count
             : same(symbol, "cuGetErrorName") ? (void*)name
             : same(symbol, "cuGetErrorString") ? (void*)text : (void*)succeed;
  return 0;
}
)";
}

TEST_F(CudaDriverTest, ReportsAMissingLibrary) {
  const CudaDriver opened = open_cuda_driver("libcuda-that-is-not-there.so.1");
  EXPECT_EQ(opened.driver, nullptr);
  EXPECT_THAT(opened.reason, StartsWith("the CUDA driver libcuda-that-is-not-there.so.1 cannot be "
                                        "opened (libcuda-that-is-not-there.so.1: "));
}

TEST_F(CudaDriverTest, ReportsBothVersionsOfAnOldDriver) {
  const CudaDriver opened = open(fake_driver(11080, "", 0, 1));
  EXPECT_EQ(opened.driver, nullptr);
  EXPECT_THAT(opened.reason, HasSubstr("libcuda.so is for CUDA 11.8, sinter needs 12.0 or later; "
                                       "update the NVIDIA driver"));
}

TEST_F(CudaDriverTest, ReportsMissingCalls) {
  const CudaDriver opened = open(fake_driver(12020, "cuLaunchKernelEx", 0, 1));
  EXPECT_EQ(opened.driver, nullptr);
  EXPECT_THAT(opened.reason,
              HasSubstr("has no cuLaunchKernelEx of CUDA 11.6; reinstall the NVIDIA driver"));
}

TEST_F(CudaDriverTest, ToleratesMissingOptionalCalls) {
  const CudaDriver opened = open(fake_driver(12020, "cuFuncGetParamInfo", 0, 1));
  ASSERT_NE(opened.driver, nullptr) << opened.reason;
  EXPECT_EQ(opened.driver->cuFuncGetParamInfo, nullptr);
  EXPECT_NE(opened.driver->cuStreamGetId, nullptr);
  EXPECT_EQ(opened.driver->version, 12020);
  EXPECT_EQ(opened.driver->name, "cuda");
}

TEST_F(CudaDriverTest, ReportsWhyCuInitFails) {
  EXPECT_THAT(open(fake_driver(12020, "", 100, 1)).reason,
              HasSubstr("does not start: cuInit says CUDA_ERROR_NO_DEVICE (error 100: no device); "
                        "see if nvidia-smi lists "
                        "the device"));
}

/// Another library had started CUDA before the process was forked.
TEST_F(CudaDriverTest, ReportsAForkAfterCudaHadStarted) {
  EXPECT_THAT(open(fake_driver(12020, "", CUDA_ERROR_NOT_INITIALIZED, 1)).reason,
              HasSubstr("; if this process was forked after CUDA had started in its parent, CUDA "
                        "does not work here; start CUDA only in the child"));
}

TEST_F(CudaDriverTest, ReportsThatThereIsNoDevice) {
  EXPECT_THAT(open(fake_driver(12020, "", 0, 0)).reason, HasSubstr("finds no CUDA device"));
}

TEST_F(CudaDriverTest, OpensTheSystemDriverOrReportsWhyNot) {
  const CudaDriver& opened = cuda_driver();
  EXPECT_EQ(opened.driver == nullptr, !opened.reason.empty());
  EXPECT_EQ(&opened, &cuda_driver());
}

TEST(DriverTable, HoldsEveryCallOfTheHostDevice) {
  const Driver& driver = host::host_driver();
  for (const DriverSymbol& symbol : kDriverSymbols) {
    void* address = nullptr;
    std::memcpy(&address, reinterpret_cast<const char*>(&driver) + symbol.offset, sizeof(address));
    EXPECT_NE(address, nullptr) << symbol.name;
  }
  EXPECT_EQ(driver.name, "host");
  EXPECT_GE(driver.version, kMinimumCudaDriver);
}

TEST(DriverTable, DescribesUnknownCodes) {
  const Driver& driver = host::host_driver();
  EXPECT_EQ(describe(driver, CUDA_ERROR_NOT_READY),
            "CUDA_ERROR_NOT_READY (error 600: device not ready)");
  EXPECT_EQ(describe(driver, static_cast<CUresult>(12345)), "error 12345");
}

}  // namespace
}  // namespace sinter::cuda_driver_test
