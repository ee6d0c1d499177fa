// Keeps the disk cache within its size: what has not been used for longest goes.
#pragma once

#include <cstdint>
#include <string>

namespace sinter {

struct SweepResult {
  std::int64_t bytes = 0;    ///< that are there now
  std::int64_t evicted = 0;  ///< entries that went
};

/// The entries under `directory` that were used last, and what lies beside them, stay; if there is
/// more than `max_bytes`, only nine tenths of that. Files that nobody has finished writing for an
/// hour go too.
SweepResult sweep_cache(const std::string& directory, std::int64_t max_bytes);

}  // namespace sinter
