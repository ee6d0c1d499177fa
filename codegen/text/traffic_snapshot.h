// Bookkeeping for work whose text is emitted twice.
#pragma once

#include <llvm/Support/SaveAndRestore.h>

#include "codegen/text/source.h"

namespace sinter {

/// Restores the traffic of `source` when it is destroyed. Used around the first of two texts for
/// the same work, so that only the second text counts its bytes.
class TrafficSnapshot {
 public:
  explicit TrafficSnapshot(Source& source)
      : traffic_(source.traffic), bytes_read_of_(source.bytes_read_of) {}
  TrafficSnapshot(const TrafficSnapshot&) = delete;
  TrafficSnapshot& operator=(const TrafficSnapshot&) = delete;

 private:
  llvm::SaveAndRestore<decltype(Source::traffic)> traffic_;
  llvm::SaveAndRestore<decltype(Source::bytes_read_of)> bytes_read_of_;
};

}  // namespace sinter
