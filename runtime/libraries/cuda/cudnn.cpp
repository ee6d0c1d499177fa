#include "runtime/libraries/cuda/cudnn.h"

#include <fmt/format.h>

#include "runtime/driver/cuda_driver.h"
#include "runtime/libraries/cuda/cuda_library.h"
#include "runtime/support/library_file.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr const char* kCudnnVersions[] = {"libcudnn.so.9"};
constexpr const char* kCudnnWheels[] = {"nvidia/cudnn/lib"};
constexpr int kCudnnMajor = 9;

/// Fills the table. Returns the name of the first function that is missing.
std::string fill_cudnn(cudnn::Table& table, void* handle) {
  using namespace cudnn;
  std::string missing;
#define SYMBOL(RESULT, NAME, PARAMETERS) \
  if (!find_symbol(handle, #NAME, table.NAME) && missing.empty()) missing = #NAME;
#include "runtime/libraries/cuda/cudnn_symbols.def"
  return missing;
}

CudnnOrReason open_cudnn() {
  auto* const library = new Cudnn;  // never destroyed, because the library is never closed
  const int driver_major = cuda_driver_version() / 1000;
  const auto accepts = [&](void* handle) -> std::string {
    if (const std::string missing = fill_cudnn(library->table, handle); !missing.empty())
      return fmt::format("has no {}", missing);
    const auto version = static_cast<int>(library->table.cudnnGetVersion());
    library->major = version / 10000;
    library->minor = version / 100 % 100;
    if (library->major != kCudnnMajor) return fmt::format("is version {}", library->version_text());
    const auto cuda_major = static_cast<int>(library->table.cudnnGetCudartVersion() / 1000);
    if (driver_major > 0 && cuda_major > driver_major)
      return fmt::format("is for CUDA {}, the driver for CUDA {}", cuda_major, driver_major);
    return {};
  };
  // The number in the name is that of cuDNN, so it says nothing about the driver.
  const CudaLibrary opened = open_cuda_library({.variable = "SINTER_CUDNN",
                                                .versions = kCudnnVersions,
                                                .plain = "libcudnn.so",
                                                .wheel_folders = kCudnnWheels},
                                               /*newest_major=*/0, accepts);
  if (opened.handle) {
    library->path = opened.path;
    return {.library = library, .reason = {}};
  }
  delete library;
  return {.reason =
              fmt::format("cuDNN 9, which {}; install it for the CUDA toolkit or the Python wheel "
                          "nvidia-cudnn-cu{}, or name the file in SINTER_CUDNN",
                          opened.reason, driver_major == 12 ? 12 : 13)};
}

}  // namespace

std::string Cudnn::version_text() const { return fmt::format("{}.{}", major, minor); }

std::string Cudnn::describe(cudnn::cudnnStatus_t status) const {
  char details[1024] = {};
  table.cudnnGetLastErrorString(details, sizeof(details) - 1);
  const std::string text = table.cudnnGetErrorString(status);
  return *details ? fmt::format("{}: {}", text, details) : text;
}

void Cudnn::check(cudnn::cudnnStatus_t status, const char* call) const {
  if (status == cudnn::CUDNN_STATUS_SUCCESS) return;
  throw DriverError(
      fmt::format("{} of cuDNN {} failed: {}", call, version_text(), describe(status)), status);
}

const CudnnOrReason& find_cudnn() {
  static const auto& opened = *new CudnnOrReason(open_cudnn());
  return opened;
}

}  // namespace sinter
