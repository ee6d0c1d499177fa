#include "runtime/libraries/cuda/cuda_library.h"

#include <algorithm>

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/support/environment.h"
#include "runtime/support/library_file.h"

namespace sinter {

CudaLibrary open_cuda_library(const CudaLibraryNames& names, int newest_major,
                              const std::function<std::string(void* handle)>& accepts) {
  std::vector<std::string> files = cuda_library_files(names);
  const bool is_named = !environment_variable(names.variable).empty();
  if (newest_major > 0 && !is_named)
    std::erase_if(files,
                  [&](const std::string& file) { return major_version_of(file) > newest_major; });
  // Later versions first, in the order of the folders.
  std::ranges::stable_sort(files, std::ranges::greater(), major_version_of);
  CudaLibrary library{.reason = "was not found"};
  for (const std::string& file : files) {
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      if (is_named) library.reason = fmt::format("cannot be opened ({})", dlerror());
      continue;
    }
    const std::string problem = accepts(handle);
    if (problem.empty()) return {.handle = handle, .path = library_file(handle).path, .reason = {}};
    library.reason = fmt::format("cannot be used: {} {}", file, problem);
  }
  return library;
}

}  // namespace sinter
