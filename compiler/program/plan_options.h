// Options of planning.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/numerics.h"

namespace sinter {

/// Options of `plan`, read once and passed down.
struct PlanOptions {
  bool fuse = true;                    ///< false: one kernel per node of the simplified graph
  Numerics numerics = {};              ///< for codegen, unchanged by planning
  std::vector<std::string> skip = {};  ///< passes to leave out, by name
  /// By output number: true for an output that is a view (ir/graph/output_view.h) and is not
  /// written. Empty: all are written.
  std::vector<bool> unwritten_outputs = {};
  /// Collectives of at most this many bytes together become one (bucket_collectives.h).
  std::int64_t bucket_bytes = 25 << 20;
  bool verify = true;  ///< check the graph after each pass
  /// If set, called after each pass with its name and its result as text.
  std::function<void(std::string_view pass, const std::string& text)> dump = {};
  /// If set, called after each pass with its name and duration.
  std::function<void(std::string_view pass, double milliseconds)> timed = {};
};

}  // namespace sinter
