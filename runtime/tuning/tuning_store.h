// Stores the timings of kernels: in memory, and in the disk cache for other processes.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/cache/disk_cache.h"
#include "runtime/tuning/candidate_timings.h"
#include "runtime/tuning/tuning_format.h"

namespace sinter {

/// The known timings of kernels on one device. Usable from any thread.
class TuningStore {
 public:
  /// The timings of a kernel. Reads the disk once per kernel; damaged entries count as missing.
  KernelTunings find(const std::string& kernel, DiskCache& disk);
  /// True if `find` was called for the kernel.
  bool was_queried(const std::string& kernel) const;
  /// Adds timings in memory and on disk, where other processes may have added some meanwhile.
  /// Returns all timings of that size that are in memory then.
  TunedSize put(const std::string& kernel, const TunedSize& size, DiskCache& disk);

  /// All timings that this process has measured, looked up or imported.
  TuningsByKernel all() const;
  /// Adds timings for the lifetime of the process. They override known timings of the same
  /// candidates, unless these are better. If there are too many sizes, sizes that only the import
  /// has go first.
  void import(const TuningsByKernel& kernels);

 private:
  struct Known {
    KernelTunings tunings;
    bool is_read = false;  ///< from disk
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Known> known_;
};

}  // namespace sinter
