#include "runtime/collectives/nccl/nccl.h"

#include <string_view>
#include <type_traits>

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/driver/cuda_driver.h"
#include "runtime/libraries/cuda/cuda_library.h"
#include "runtime/support/environment.h"
#include "runtime/support/library_file.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr const char* kNcclVersions[] = {"libnccl.so.2"};
constexpr const char* kNcclWheels[] = {"nvidia/nccl/lib"};
constexpr int kMinimumNccl = 21800;

std::string text_of_version(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// Fills the table. Returns the name of the first function that is missing.
std::string fill_nccl(nccl::Table& table, void* handle) {
  using namespace nccl;
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (!function && missing.empty()) missing = name;
  };
#define SYMBOL(RESULT, NAME, PARAMETERS) find(table.NAME, #NAME);
#include "runtime/collectives/nccl/nccl_symbols.def"
  return missing;
}

}  // namespace

std::string Nccl::version_text() const { return text_of_version(version); }

std::string Nccl::describe(nccl::ncclResult_t result, nccl::ncclComm_t communicator) const {
  std::string text = table.ncclGetErrorString(result);
  const char* const details = table.ncclGetLastError(communicator);
  if (details && *details) text += fmt::format(": {}", details);
  return text;
}

NcclOrReason open_nccl() {
  auto* const library = new Nccl;  // never destroyed, because the library is never closed
  const auto accepts = [&](void* handle) -> std::string {
    const std::string missing = fill_nccl(library->table, handle);
    int version = 0;
    if (library->table.ncclGetVersion && library->table.ncclGetVersion(&version) == 0)
      library->version = version;
    // Before 2.9 the number had another form, which is smaller.
    if (version > 0 && version < kMinimumNccl)
      return fmt::format("is version {}, and sinter needs {} or later",
                         version < 10000 ? fmt::to_string(version) : text_of_version(version),
                         text_of_version(kMinimumNccl));
    return missing.empty() ? "" : fmt::format("has no {}", missing);
  };
  // A program's own communicators are of the copy that it has loaded.
  if (void* const loaded = environment_variable("SINTER_NCCL").empty()
                               ? dlopen(kNcclVersions[0], RTLD_NOW | RTLD_NOLOAD)
                               : nullptr) {
    if (accepts(loaded).empty()) {
      library->path = library_file(loaded).path;
      return {.library = library, .reason = {}};
    }
    dlclose(loaded);
    *library = {};
  }
  // The number in the name is that of NCCL, so it says nothing about the driver.
  const CudaLibrary opened = open_cuda_library({.variable = "SINTER_NCCL",
                                                .versions = kNcclVersions,
                                                .plain = "libnccl.so",
                                                .wheel_folders = kNcclWheels},
                                               /*newest_major=*/0, accepts);
  if (opened.handle) {
    library->path = opened.path;
    return {.library = library, .reason = {}};
  }
  delete library;
  return {.reason =
              fmt::format("NCCL 2.18 or later, which {}; install NVIDIA's package libnccl2 or the "
                          "Python wheel nvidia-nccl-cu{}, or name the file in SINTER_NCCL",
                          opened.reason, cuda_driver_version() / 1000 == 12 ? 12 : 13)};
}

const NcclOrReason& find_nccl() {
  static const auto& opened = *new NcclOrReason(open_nccl());
  return opened;
}

const Nccl& require_nccl(const char* what) {
  const NcclOrReason& opened = find_nccl();
  if (!opened.library) throw UserError(fmt::format("{} needs {}", what, opened.reason));
  return *opened.library;
}

}  // namespace sinter
