// The places where a machine may have one of NVIDIA's libraries.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The names of one library.
struct CudaLibraryNames {
  const char* variable = "";                   ///< environment variable that names a file
  std::span<const char* const> versions;       ///< `libnvrtc.so.13`, newest first
  const char* plain = "";                      ///< `libnvrtc.so`
  std::span<const char* const> wheel_folders;  ///< in site-packages: `nvidia/cu13/lib`
};

/// Paths and loader names of the library, in the order of trial. The file of the environment
/// variable alone if that is set. Otherwise the loader's, those of toolkits ($CUDA_HOME,
/// $CUDAToolkit_ROOT, /usr/local/cuda*), and those of Python wheels ($VIRTUAL_ENV, $CONDA_PREFIX,
/// ~/.local, /usr/local and /usr).
std::vector<std::string> cuda_library_files(const CudaLibraryNames& names);

/// 12 of `/usr/lib/libnvrtc.so.12.4.127`; 0 of a name without a number.
int major_version_of(std::string_view file);

}  // namespace sinter
