// The advice in errors of the driver, and the classes of error codes.
#include "runtime/driver/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/device/device_state.h"
#include "runtime/driver/driver_advice.h"
#include "sinter/error.h"
#include "tests/support/doubles/null_driver.h"
#include "tests/support/files/errors.h"

namespace sinter::driver_error_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string message_of(CUresult result, std::string_view device = "cuda") {
  Driver driver = test::null_driver();
  driver.name = device;
  return test::error_of<DriverError>(
      [&] { check(driver, result, "cuStreamSynchronize", "a stream"); });
}

constexpr const char* kLost =
    "; a kernel or copy has failed, and the device is lost for this process: every later call "
    "fails, so end the process and start it again; compute-sanitizer finds the cause";

TEST(DriverError, SaysThatTheProcessIsLost) {
  for (const CUresult result :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_ASSERT, CUDA_ERROR_CONTAINED}) {
    EXPECT_TRUE(loses_device(result)) << result;
    EXPECT_THAT(message_of(result), EndsWith(kLost)) << result;
  }
  for (const CUresult result :
       {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, CUDA_ERROR_NOT_READY}) {
    EXPECT_FALSE(loses_device(result)) << result;
    EXPECT_THAT(message_of(result), Not(HasSubstr("start it again"))) << result;
  }
}

TEST(DriverError, TheHostDeviceRecovers) {
  EXPECT_THAT(message_of(CUDA_ERROR_ILLEGAL_ADDRESS, "host"), Not(HasSubstr(kLost)));
}

TEST(DriverError, AdvisesOnPtxThatTheDriverCannotCompile) {
  EXPECT_THAT(message_of(CUDA_ERROR_JIT_COMPILER_NOT_FOUND),
              HasSubstr("install that library, or use machine code"));
  EXPECT_THAT(message_of(CUDA_ERROR_JIT_COMPILATION_DISABLED),
              HasSubstr("unset CUDA_DISABLE_PTX_JIT"));
}

TEST(DriverError, NamesAForkInAnotherLibrary) {
  EXPECT_THAT(message_of(CUDA_ERROR_NOT_INITIALIZED),
              HasSubstr("; if this process was forked after CUDA had started in its parent"));
}

TEST(DriverError, TellsUnknownImagesFromDamagedOnes) {
  for (const CUresult result : {CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU,
                                CUDA_ERROR_UNSUPPORTED_PTX_VERSION}) {
    EXPECT_TRUE(is_image_unknown(result)) << result;
    EXPECT_TRUE(is_image_rejected(result)) << result;
  }
  for (const CUresult result :
       {CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_SOURCE, CUDA_ERROR_NOT_FOUND}) {
    EXPECT_FALSE(is_image_unknown(result)) << result;
    EXPECT_TRUE(is_image_rejected(result)) << result;
  }
  for (const CUresult result : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_ILLEGAL_ADDRESS})
    EXPECT_FALSE(is_image_rejected(result)) << result;
}

/// Without a context every release fails. One line says so.
TEST(DriverError, ALostContextIsReportedOnce) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    log_failed_release(test::null_driver(), CUDA_ERROR_ILLEGAL_ADDRESS, "cuMemFree");
    log_failed_release(test::null_driver(), CUDA_ERROR_DEINITIALIZED, "cuMemFree");
    log_failed_release(test::null_driver(), CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuMemFree");
  }
  log_failed_release(test::null_driver(), CUDA_ERROR_INVALID_VALUE, "cuEventDestroy");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "sinter: cuMemFree failed while something was released: an unknown error (error 700)\n"
            "sinter: cuEventDestroy failed while something was released: an unknown error (error "
            "1)\n");
}

}  // namespace
}  // namespace sinter::driver_error_test
