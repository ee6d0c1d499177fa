#include "runtime/libraries/cuda/cublaslt.h"

#include <fmt/format.h>

#include "runtime/driver/cuda_driver.h"
#include "runtime/libraries/cuda/cuda_library.h"
#include "runtime/support/library_file.h"

namespace sinter {

namespace {

constexpr const char* kCublasltVersions[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr const char* kCublasltWheels[] = {"nvidia/cu13/lib", "nvidia/cublas/lib"};
constexpr int kOldestCublaslt = 12;

/// Fills the table. Returns the name of the first function that is missing.
std::string fill_cublaslt(cublaslt::Table& table, void* handle) {
  using namespace cublaslt;
  std::string missing;
#define SYMBOL(RESULT, NAME, PARAMETERS) \
  if (!find_symbol(handle, #NAME, table.NAME) && missing.empty()) missing = #NAME;
#include "runtime/libraries/cuda/cublaslt_symbols.def"
  return missing;
}

CublasltOrReason open_cublaslt() {
  auto* const library = new Cublaslt;  // never destroyed, because the library is never closed
  const int driver_major = cuda_driver_version() / 1000;
  const CudaLibrary opened = open_cuda_library(
      {.variable = "SINTER_CUBLASLT",
       .versions = kCublasltVersions,
       .plain = "libcublasLt.so",
       .wheel_folders = kCublasltWheels},
      driver_major, [&](void* handle) -> std::string {
        if (const std::string missing = fill_cublaslt(library->table, handle); !missing.empty())
          return fmt::format("has no {}", missing);
        const auto version = static_cast<int>(library->table.cublasLtGetVersion());
        library->major = version / 10000;
        library->minor = version / 100 % 100;
        if (library->major < kOldestCublaslt)
          return fmt::format("is version {}", library->version_text());
        if (driver_major > 0 && library->major > driver_major)
          return fmt::format("is for CUDA {}, the driver for CUDA {}", library->major,
                             driver_major);
        return {};
      });
  if (opened.handle) {
    library->path = opened.path;
    return {.library = library, .reason = {}};
  }
  delete library;
  return {.reason = fmt::format(
              "cuBLASLt 12 or 13, which {}; install the CUDA toolkit or the Python wheel {}, or "
              "name the file in SINTER_CUBLASLT",
              opened.reason, driver_major == 12 ? "nvidia-cublas-cu12" : "nvidia-cublas")};
}

}  // namespace

std::string Cublaslt::version_text() const { return fmt::format("{}.{}", major, minor); }

const CublasltOrReason& find_cublaslt() {
  static const auto& opened = *new CublasltOrReason(open_cublaslt());
  return opened;
}

}  // namespace sinter
