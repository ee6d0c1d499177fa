#include "runtime/compile/nvrtc_choice.h"

#include "runtime/driver/cuda_driver.h"
#include "runtime/support/environment.h"
#include "sinter/error.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sinter {

namespace {

namespace fs = std::filesystem;

/// 12 of `/usr/lib/libnvrtc.so.12.4.127`; 0 of a name without a number.
int major_version(std::string_view file) {
  constexpr std::string_view kBefore = ".so.";
  const std::size_t at = file.rfind(kBefore);
  int number = 0;
  if (at != file.npos)
    std::from_chars(file.data() + at + kBefore.size(), file.data() + file.size(), number);
  return number;
}

/// The files by major version, in the order of trial.
std::vector<std::vector<std::string>> in_order(std::vector<std::string> files, int driver_major) {
  std::map<int, std::vector<std::string>> by_major;
  for (std::string& file : files) by_major[major_version(file)].push_back(std::move(file));
  std::vector<std::vector<std::string>> known, newer;
  for (auto& [major, group] : by_major)
    (driver_major == 0 || major <= driver_major ? known : newer).push_back(std::move(group));
  std::ranges::reverse(known);
  known.insert(known.end(), newer.begin(), newer.end());
  return known;
}

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
std::vector<fs::path> wheel_folders() {
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
        for (const char* wheel : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})
          folders.push_back(python / packages / wheel);
  return folders;
}

}  // namespace

NvrtcChoice::NvrtcChoice(std::vector<std::string> files, int driver_version)
    : driver_version_(driver_version), closed_(in_order(std::move(files), driver_version / 1000)) {
  ensure(!closed_.empty(), "there are no names of NVRTC libraries");
}

/// Opens all libraries of the next major version that has any, and adds them, newest first. Adds
/// the reason instead if no library was ever opened. False if nothing was added.
bool NvrtcChoice::open_more() {
  std::string reason;
  while (!closed_.empty()) {
    const std::vector<std::string> files = std::move(closed_.front());
    closed_.erase(closed_.begin());
    std::vector<NvrtcOrReason> found;
    for (const std::string& file : files) {
      NvrtcOrReason library = open_nvrtc(file);
      const auto is_same = [&](const NvrtcOrReason& other) {
        return other.nvrtc->path() == library.nvrtc->path();
      };
      if (library.nvrtc && std::ranges::none_of(opened_, is_same) &&
          std::ranges::none_of(found, is_same))
        found.push_back(library);
      if (!library.nvrtc && reason.empty()) reason = library.reason;
    }
    if (found.empty()) continue;
    std::ranges::stable_sort(found, std::ranges::greater(),
                             [](const NvrtcOrReason& library) { return library.nvrtc->version(); });
    opened_.insert(opened_.end(), found.begin(), found.end());
    return true;
  }
  if (!opened_.empty()) return false;
  opened_.push_back(
      {.reason = reason + "; install the CUDA toolkit or set SINTER_NVRTC to the library"});
  return true;
}

const NvrtcOrReason& NvrtcChoice::current() {
  const std::lock_guard lock(mutex_);
  if (opened_.empty()) open_more();
  return opened_[current_];
}

const Nvrtc* NvrtcChoice::after(const Nvrtc& refused) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(opened_, &refused, &NvrtcOrReason::nvrtc);
  ensure(at != opened_.end(), "the refused NVRTC is not one of this choice");
  const auto next = static_cast<std::size_t>(at - opened_.begin()) + 1;
  if (next == opened_.size() && !open_more()) return nullptr;
  return opened_[next].nvrtc;
}

void NvrtcChoice::use(const Nvrtc& library) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(opened_, &library, &NvrtcOrReason::nvrtc);
  ensure(at != opened_.end(), "the NVRTC to use is not one of this choice");
  current_ = static_cast<std::size_t>(at - opened_.begin());
}

void NvrtcChoice::prefer(const std::string& file) {
  const std::lock_guard lock(mutex_);
  if (!opened_.empty()) return;
  closed_.insert(closed_.begin(), {file});
  is_preferred_ = true;
}

bool NvrtcChoice::is_fallback() {
  const std::lock_guard lock(mutex_);
  return current_ > 0 || is_preferred_;
}

std::string NvrtcChoice::advice_on(const Nvrtc& library) const {
  const int major = library.version() / 1000;
  const int driver = driver_version_ / 1000;
  if (driver == 0 || major <= driver) return {};
  const std::string wheel =
      driver < 13 ? "nvidia-cuda-nvrtc-cu12" : fmt::format("nvidia-cuda-nvrtc=={}.*", driver);
  return fmt::format(
      "; NVRTC {}.{} is newer than the driver, which is for CUDA {}.{}: install a driver for CUDA "
      "{} or later, or the Python wheel {}",
      major, library.version() % 1000 / 10, driver, driver_version_ % 1000 / 10, major, wheel);
}

std::vector<std::string> nvrtc_files() {
  if (std::string chosen = environment_variable("SINTER_NVRTC"); !chosen.empty()) return {chosen};
  constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
  std::vector<std::string> files(std::begin(kNames), std::end(kNames));
  std::vector<fs::path> folders = toolkit_folders();
  for (fs::path& folder : wheel_folders()) folders.push_back(std::move(folder));
  std::error_code failed;
  for (const fs::path& folder : folders)
    for (const char* name : {kNames[0], kNames[1], "libnvrtc.so"})
      if (const fs::path file = folder / name; fs::exists(file, failed))
        files.push_back(file.string());
  return files;
}

NvrtcChoice& nvrtc_choice() {
  // Never destroyed: a thread may still compile while the process ends.
  static auto& choice = *new NvrtcChoice(nvrtc_files(), cuda_driver_version());
  return choice;
}

const NvrtcOrReason& nvrtc() { return nvrtc_choice().current(); }

}  // namespace sinter
