// Where facts about kernels are kept: in memory, and in the disk cache for other processes.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/cache/disk_cache.h"
#include "runtime/tuning/tuning_facts.h"
#include "runtime/tuning/tuning_text.h"

namespace sinter {

/// What is known of kernels on one device. Usable from any thread.
class TuningStore {
 public:
  /// Looks on disk once for each kernel. What is damaged there, or means nothing, is not there.
  KernelTunings find(const std::string& kernel, DiskCache& disk);
  /// True if `find` was asked for the kernel, or `put` told of it.
  bool has_met(const std::string& kernel) const;
  /// Adds facts to what is known, and to what others have stored meanwhile.
  void put(const std::string& kernel, const TunedSize& size, DiskCache& disk);

  /// All that this process has measured or looked up.
  TuningsByKernel all() const;
  /// Adds facts for as long as the process lives; they count more than those that are known of the
  /// same candidates. Where there are too many sizes, those that are known from here alone go
  /// first.
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
