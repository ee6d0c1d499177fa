#include "runtime/support/cuda_library_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "runtime/support/environment.h"

namespace sinter {

namespace {

namespace fs = std::filesystem;

/// The entries of `folder` whose names begin with `prefix`; none if it cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().filename().string().starts_with(prefix)) entries.push_back(at->path());
  std::ranges::sort(entries);
  return entries;
}

/// The folders of a toolkit that may have its libraries: those of NVIDIA's packages, and those of
/// distributions, conda and containers. `sbsa` is NVIDIA's name of servers with Arm processors.
constexpr const char* kToolkitFolders[] = {
    "lib64",
    "lib",
#ifdef __aarch64__
    "targets/sbsa-linux/lib",
    "targets/aarch64-linux/lib",
#else
    "targets/x86_64-linux/lib",
#endif
};

std::vector<fs::path> toolkit_folders() {
  std::vector<fs::path> toolkits;
  for (const char* variable : {"CUDA_HOME", "CUDAToolkit_ROOT"})
    if (const std::string toolkit = environment_variable(variable); !toolkit.empty())
      toolkits.emplace_back(toolkit);
  for (fs::path& toolkit : entries_of("/usr/local", "cuda")) toolkits.push_back(std::move(toolkit));
  std::vector<fs::path> folders;
  for (const fs::path& toolkit : toolkits)
    for (const char* const folder : kToolkitFolders) folders.push_back(toolkit / folder);
  return folders;
}

/// The folders that have the libraries of NVIDIA's Python wheels and conda packages.
std::vector<fs::path> folders_of_wheels(std::span<const char* const> wheels) {
  std::vector<fs::path> prefixes = {"/usr/local", "/usr"};
  if (const std::string home = environment_variable("HOME"); !home.empty())
    prefixes.insert(prefixes.begin(), fs::path(home) / ".local");
  std::vector<fs::path> folders;
  for (const char* variable : {"CONDA_PREFIX", "VIRTUAL_ENV"})
    if (const std::string prefix = environment_variable(variable); !prefix.empty()) {
      prefixes.insert(prefixes.begin(), prefix);
      folders.push_back(fs::path(prefix) / "lib");
    }
  for (const fs::path& prefix : prefixes)
    for (const fs::path& python : entries_of(prefix / "lib", "python3"))
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const char* wheel : wheels) folders.push_back(python / packages / wheel);
  return folders;
}

}  // namespace

std::vector<std::string> cuda_library_files(const CudaLibraryNames& names) {
  if (std::string chosen = environment_variable(names.variable); !chosen.empty()) return {chosen};
  std::vector<std::string> files(names.versions.begin(), names.versions.end());
  std::vector<fs::path> folders = toolkit_folders();
  for (fs::path& folder : folders_of_wheels(names.wheel_folders))
    folders.push_back(std::move(folder));
  std::vector<const char*> all_names(names.versions.begin(), names.versions.end());
  all_names.push_back(names.plain);
  std::error_code failed;
  for (const fs::path& folder : folders)
    for (const char* const name : all_names)
      if (const fs::path file = folder / name; fs::exists(file, failed))
        files.push_back(file.string());
  return files;
}

int major_version_of(std::string_view file) {
  constexpr std::string_view kBefore = ".so.";
  const std::size_t at = file.rfind(kBefore);
  int number = 0;
  if (at != file.npos)
    std::from_chars(file.data() + at + kBefore.size(), file.data() + file.size(), number);
  return number;
}

}  // namespace sinter
