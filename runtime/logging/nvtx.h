// The spans of the trace as NVTX ranges, for tools such as Nsight Systems. The domain is "sinter";
// the categories are those of the trace.
#pragma once

#include <string>
#include <string_view>

namespace sinter {

class Nvtx {
 public:
  /// False if this was built without the NVTX headers. has_tool() is then always false.
  static bool is_built_in();
  /// True if the process runs under a tool that reads NVTX. Checked once.
  static bool has_tool();

  /// Begins a range on this thread. `category` is one of those in nvtx.cpp.
  static void push(std::string_view category, const std::string& name);
  /// Ends the range that this thread began last.
  static void pop();
};

}  // namespace sinter
