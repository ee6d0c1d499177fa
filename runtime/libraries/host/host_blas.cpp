#include "runtime/libraries/host/host_blas.h"

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/support/environment.h"
#include "runtime/support/library_file.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr int kRowMajor = 101, kNotTransposed = 111, kTransposed = 112;  // cblas.h

constexpr const char* kOpenBlasNames[] = {"libopenblas.so.0", "libopenblas.so"};
constexpr const char* kOneDnnNames[] = {"libdnnl.so.3", "libdnnl.so.2"};

/// Makes the library compute on the calling thread alone, because sinter divides products itself.
void use_one_thread(void* library) {
  for (const char* const name :
       {"openblas_set_num_threads", "MKL_Set_Num_Threads", "bli_thread_set_num_threads"}) {
    void (*set)(int) = nullptr;
    if (find_symbol(library, name, set)) return set(1);
  }
}

/// `0.3.21` of `OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY Haswell`; the second word.
std::string second_word(std::string_view text) {
  const std::size_t begin = text.find(' ');
  if (begin == text.npos) return {};
  text.remove_prefix(begin + 1);
  return std::string(text.substr(0, text.find(' ')));
}

/// Libraries are never closed, so their functions stay valid.
const HostBlas* keep_blas(std::unique_ptr<const HostBlas> blas) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<const HostBlas>>;
  const std::lock_guard lock(mutex);
  return kept->emplace_back(std::move(blas)).get();
}

}  // namespace

bool HostBlas::fill_cblas(void* library) {
  if (!find_symbol(library, "cblas_sgemm", cblas_sgemm_) ||
      !find_symbol(library, "cblas_dgemm", cblas_dgemm_))
    return false;
  name_ = "CBLAS";
  const char* (*config)() = nullptr;
  if (find_symbol(library, "openblas_get_config", config)) {
    const std::string text = config();
    if (text.find("USE64BITINT") != text.npos) return false;  // its integers have 64 bits
    name_ = "OpenBLAS";
    version_ = second_word(text);
  }
  use_one_thread(library);
  return true;
}

bool HostBlas::fill_dnnl(void* library) {
  struct Version {  // dnnl_version_t
    int major, minor, patch;
    const char* hash;
    unsigned cpu_runtime, gpu_runtime;
  };
  const Version* (*version)() = nullptr;
  if (!find_symbol(library, "dnnl_sgemm", dnnl_sgemm_) ||
      !find_symbol(library, "dnnl_version", version))
    return false;
  const Version& found = *version();
  name_ = "oneDNN";
  version_ = fmt::format("{}.{}.{}", found.major, found.minor, found.patch);
  // The loader takes the library's OpenMP from the whole process first, so this looks there first.
  for (void* const place : {RTLD_DEFAULT, library})
    if (find_symbol(place, "omp_set_num_threads", set_threads_of_this_thread_)) break;
  return true;
}

void HostBlas::multiply(const BlasProduct<float>& product) const {
  const float beta = product.adds ? 1.0F : 0.0F;
  if (cblas_sgemm_) {
    cblas_sgemm_(kRowMajor, product.transpose_a ? kTransposed : kNotTransposed,
                 product.transpose_b ? kTransposed : kNotTransposed, static_cast<int>(product.m),
                 static_cast<int>(product.n), static_cast<int>(product.k), 1.0F, product.a,
                 static_cast<int>(product.a_stride), product.b, static_cast<int>(product.b_stride),
                 beta, product.c, static_cast<int>(product.c_stride));
    return;
  }
  if (set_threads_of_this_thread_) set_threads_of_this_thread_(1);
  const int status = dnnl_sgemm_(product.transpose_a ? 'T' : 'N', product.transpose_b ? 'T' : 'N',
                                 product.m, product.n, product.k, 1.0F, product.a, product.a_stride,
                                 product.b, product.b_stride, beta, product.c, product.c_stride);
  if (status != 0)
    throw DriverError(fmt::format("dnnl_sgemm of {} failed with the status {}", path_, status),
                      status);
}

void HostBlas::multiply(const BlasProduct<double>& product) const {
  cblas_dgemm_(kRowMajor, product.transpose_a ? kTransposed : kNotTransposed,
               product.transpose_b ? kTransposed : kNotTransposed, static_cast<int>(product.m),
               static_cast<int>(product.n), static_cast<int>(product.k), 1.0, product.a,
               static_cast<int>(product.a_stride), product.b, static_cast<int>(product.b_stride),
               product.adds ? 1.0 : 0.0, product.c, static_cast<int>(product.c_stride));
}

HostBlasOrReason open_host_blas(const std::string& choice) {
  std::vector<std::string> files;
  if (choice.empty() || choice == "openblas")
    files.insert(files.end(), std::begin(kOpenBlasNames), std::end(kOpenBlasNames));
  if (choice.empty() || choice == "onednn")
    files.insert(files.end(), std::begin(kOneDnnNames), std::end(kOneDnnNames));
  const bool is_path = files.empty() && choice != "loops";
  if (is_path) files.push_back(choice);
  std::string reason;
  for (const std::string& file : files) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      if (reason.empty()) reason = fmt::format("it cannot be opened ({})", dlerror());
      continue;
    }
    auto blas = std::make_unique<HostBlas>();
    if (blas->fill_cblas(library) || blas->fill_dnnl(library)) {
      blas->path_ = library_file(library).path;
      return {.blas = keep_blas(std::move(blas)), .reason = {}};
    }
    reason = fmt::format(
        "{} has neither cblas_sgemm and cblas_dgemm with 32-bit integers, nor dnnl_sgemm", file);
  }
  if (choice.empty() || choice == "loops")
    return {.blas = keep_blas(std::make_unique<HostBlas>()), .reason = {}};
  return {.reason = fmt::format("SINTER_HOST_BLAS={}: {}; install the library, or use openblas, "
                                "onednn, loops or the path of a library",
                                choice, reason)};
}

const HostBlasOrReason& find_host_blas() {
  // Never destroyed: a thread may still compute while the process ends.
  static const auto& found =
      *new HostBlasOrReason(open_host_blas(environment_variable("SINTER_HOST_BLAS")));
  return found;
}

const HostBlas& host_blas() {
  const HostBlasOrReason& found = find_host_blas();
  if (!found.blas) throw UserError(found.reason);
  return *found.blas;
}

}  // namespace sinter
