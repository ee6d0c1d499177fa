// Options of planning.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/numerics.h"

namespace sinter {

/// How a graph is planned. Read once, passed down.
struct PlanOptions {
  bool fuse = true;                    ///< false: one kernel per node of the simplified graph
  Numerics numerics = {};              ///< handed on to whoever emits
  std::vector<std::string> skip = {};  ///< passes to leave out, by name
  /// Outputs by number that are views (ir/graph/output_view.h) and stay unwritten; empty: none.
  std::vector<bool> left_out = {};
  bool verify = true;  ///< check the graph after each pass
  /// Called after each pass with its name and what came out, as text, when set.
  std::function<void(std::string_view pass, const std::string& text)> dump = {};
  /// Called after each pass with its name and duration, when set.
  std::function<void(std::string_view pass, double milliseconds)> timed = {};
};

}  // namespace sinter
