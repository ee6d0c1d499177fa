#include "runtime/compile/nvrtc_choice.h"

#include "runtime/driver/cuda_driver.h"
#include "runtime/support/cuda_library_files.h"
#include "sinter/error.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace sinter {

namespace {

/// The files by major version, in the order of trial.
std::vector<std::vector<std::string>> in_order(std::vector<std::string> files, int driver_major) {
  std::map<int, std::vector<std::string>> by_major;
  for (std::string& file : files) by_major[major_version_of(file)].push_back(std::move(file));
  std::vector<std::vector<std::string>> known, newer;
  for (auto& [major, group] : by_major)
    (driver_major == 0 || major <= driver_major ? known : newer).push_back(std::move(group));
  std::ranges::reverse(known);
  known.insert(known.end(), newer.begin(), newer.end());
  return known;
}

constexpr const char* kNvrtcVersions[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr const char* kNvrtcWheelFolders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

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
  return cuda_library_files({.variable = "SINTER_NVRTC",
                             .versions = kNvrtcVersions,
                             .plain = "libnvrtc.so",
                             .wheel_folders = kNvrtcWheelFolders});
}

NvrtcChoice& nvrtc_choice() {
  // Never destroyed: a thread may still compile while the process ends.
  static auto& choice = *new NvrtcChoice(nvrtc_files(), cuda_driver_version());
  return choice;
}

const NvrtcOrReason& nvrtc() { return nvrtc_choice().current(); }

}  // namespace sinter
