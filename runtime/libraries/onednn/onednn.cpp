#include "runtime/libraries/onednn/onednn.h"

#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/support/environment.h"
#include "runtime/support/library_file.h"
#include "sinter/error.h"

namespace sinter {

namespace {

using namespace dnnl;

constexpr const char* kOneDnnFiles[] = {"libdnnl.so.3", "libdnnl.so.2"};

/// Fills the table for `major`. Returns the name of the first function that is missing.
std::string fill_onednn(Table& table, void* handle, int major) {
  std::string missing;
  const auto find = [&](auto& function, const char* name, bool is_needed) {
    if (!find_symbol(handle, name, function) && is_needed && missing.empty()) missing = name;
  };
#define SYMBOL(RESULT, NAME, PARAMETERS) find(table.NAME, #NAME, true);
#define SYMBOL2(RESULT, NAME, PARAMETERS) find(table.NAME, #NAME, major == 2);
#define SYMBOL3(RESULT, NAME, PARAMETERS) find(table.NAME, #NAME, major == 3);
#include "runtime/libraries/onednn/onednn_symbols.def"
  return missing;
}

/// Fills the library. Returns why it cannot be used.
std::string fill_library(OneDnn& library, void* handle) {
  if (!find_symbol(handle, "dnnl_version", library.table.dnnl_version))
    return "has no dnnl_version";
  const dnnl_version_t& version = *library.table.dnnl_version();
  library.major = version.major;
  library.minor = version.minor;
  library.patch = version.patch;
  if (version.major != 2 && version.major != 3)
    return fmt::format("is version {}, not 2 or 3", library.version_text());
  if (const std::string missing = fill_onednn(library.table, handle, version.major);
      !missing.empty())
    return fmt::format("has no {}", missing);
  // The loader takes the library's OpenMP from the whole process first, so this looks there first.
  for (void* const place : {RTLD_DEFAULT, handle})
    if (!library.omp_set_num_threads) {
      find_symbol(place, "omp_get_max_threads", library.omp_get_max_threads);
      find_symbol(place, "omp_set_num_threads", library.omp_set_num_threads);
    }
  const bool has_openmp = library.omp_get_max_threads && library.omp_set_num_threads;
  if (version.cpu_runtime != DNNL_RUNTIME_SEQ &&
      (version.cpu_runtime != DNNL_RUNTIME_OMP || !has_openmp))
    return "is built for threads other than those of OpenMP";
  if (version.cpu_runtime == DNNL_RUNTIME_SEQ) library.omp_set_num_threads = nullptr;
  if (library.table.dnnl_engine_create(&library.engine, dnnl_cpu, 0) != dnnl_success)
    return "supports no CPU";
  return {};
}

/// Libraries are never closed, so their functions stay valid.
const OneDnn* keep_library(std::unique_ptr<const OneDnn> library) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<const OneDnn>>;
  const std::lock_guard lock(mutex);
  return kept->emplace_back(std::move(library)).get();
}

}  // namespace

std::string OneDnn::version_text() const { return fmt::format("{}.{}.{}", major, minor, patch); }

void OneDnn::check(dnnl_status_t status, const char* call) const {
  if (status == dnnl_success) return;
  throw DriverError(fmt::format("{} of oneDNN {} ({}) failed with the status {}; "
                                "SINTER_HOST_CONV=products does without it",
                                call, version_text(), path, static_cast<int>(status)),
                    status);
}

OneDnnThread::OneDnnThread(const OneDnn& library) : library_(library) {
  if (!library_.omp_set_num_threads) return;
  threads_ = library_.omp_get_max_threads();
  library_.omp_set_num_threads(1);
}

OneDnnThread::~OneDnnThread() {
  if (library_.omp_set_num_threads) library_.omp_set_num_threads(threads_);
}

OneDnnOrReason open_onednn(const std::string& choice) {
  if (choice == "products") return {};
  std::vector<std::string> files = {choice};
  if (choice.empty() || choice == "onednn")
    files.assign(std::begin(kOneDnnFiles), std::end(kOneDnnFiles));
  std::string reason;
  for (const std::string& file : files) {
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      if (reason.empty()) reason = fmt::format("it cannot be opened ({})", dlerror());
      continue;
    }
    auto library = std::make_unique<OneDnn>();
    library->path = library_file(handle).path;
    const std::string why_not = fill_library(*library, handle);
    if (why_not.empty()) return {.library = keep_library(std::move(library)), .reason = {}};
    reason = fmt::format("{} {}", library->path, why_not);
  }
  if (choice.empty()) return {.reason = fmt::format("oneDNN was not found: {}", reason)};
  return {.reason = fmt::format("SINTER_HOST_CONV={}: {}; install the library, or use onednn, "
                                "products or the path of a library",
                                choice, reason),
          .is_error = true};
}

const OneDnnOrReason& find_onednn() {
  // Never destroyed: a thread may still compute while the process ends.
  static const auto& found =
      *new OneDnnOrReason(open_onednn(environment_variable("SINTER_HOST_CONV")));
  return found;
}

const OneDnn* host_onednn() {
  const OneDnnOrReason& found = find_onednn();
  if (found.is_error) throw UserError(found.reason);
  return found.library;
}

}  // namespace sinter
