// Ranges for tools that read NVTX, such as Nsight Systems: the spans of the trace, in a domain
// "sinter" whose categories are those of the trace.
#pragma once

#include <string>
#include <string_view>

namespace sinter {

class Nvtx {
 public:
  /// False where this was built without the headers of NVTX: there never is a tool then.
  static bool is_built_in();
  /// True if the process runs under a tool that listens. Asks once.
  static bool has_tool();

  /// Begins a range of this thread; one of the categories in runtime/README.md.
  static void push(std::string_view category, const std::string& name);
  /// Ends the one that this thread began last.
  static void pop();
};

}  // namespace sinter
