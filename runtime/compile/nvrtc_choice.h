// Chooses an NVRTC library of the machine: the newest one whose output the driver loads.
#pragma once

#include "runtime/compile/nvrtc.h"

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace sinter {

/// Libraries in the order of trial. Any thread may call any function.
class NvrtcChoice {
 public:
  /// `files` are paths, or names that the loader knows. `driver_version` is 12040 for a driver of
  /// CUDA 12.4, and 0 without a driver.
  ///
  /// A driver loads the output of all versions with its own major version, and of older ones.
  /// These come first, the newest in front. Later ones come last. Without a driver, the newest
  /// library is first.
  NvrtcChoice(std::vector<std::string> files, int driver_version);

  /// The library in use, or the reason why there is none. Opens libraries at the first call.
  const NvrtcOrReason& current();
  /// The library to try after `refused`, whose output the driver rejected; null if there is none.
  const Nvrtc* after(const Nvrtc& refused);
  /// Makes `library` the current one. `current()` or `after` returned it.
  void use(const Nvrtc& library);
  /// Puts `file` in front of all others. It succeeded in an earlier process, after the driver had
  /// refused the output of others. Without effect once a library is open.
  void prefer(const std::string& file);
  /// True if the current library was not the first, because the driver refused the output of
  /// others.
  bool is_fallback();
  /// How to get a library that suits the driver, as the end of a message, if `library` is too new
  /// for it: `; NVRTC 13.0 is newer than the driver …`. Otherwise empty.
  std::string advice_on(const Nvrtc& library) const;

 private:
  bool open_more();

  const int driver_version_;
  std::mutex mutex_;
  std::vector<std::vector<std::string>> closed_;  ///< by major version, in the order of trial
  std::deque<NvrtcOrReason> opened_;              ///< in the order of trial; references stay valid
  std::size_t current_ = 0;                       ///< index in `opened_`
  bool is_preferred_ = false;                     ///< the first of `opened_` was preferred
};

/// The paths and loader names of the NVRTC libraries that this machine may have. $SINTER_NVRTC
/// alone if it is set. Otherwise the loader's, those of toolkits ($CUDA_HOME, $CUDAToolkit_ROOT,
/// /usr/local/cuda*), and those of Python wheels ($VIRTUAL_ENV, $CONDA_PREFIX, ~/.local, /usr/local
/// and /usr).
std::vector<std::string> nvrtc_files();

/// The choice among `nvrtc_files()` for the system's driver.
NvrtcChoice& nvrtc_choice();

}  // namespace sinter
