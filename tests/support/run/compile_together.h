// Kernels of many runs to come, compiled in few runs of the C++ compiler.
#pragma once

#include "sinter/graph.h"
#include "sinter/options.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sinter::test {

/// How a graph will be run on the host device.
struct RunForm {
  const Graph* graph = nullptr;
  std::vector<std::int64_t> symbols;  ///< by id
  Options options = {};               ///< which count
  std::int64_t alignment = 16;        ///< of all pointers, in bytes
};

/// Compiles the kernels of all forms into the kernel cache, where the runs find them: each run of
/// the compiler costs as much as a few kernels. What cannot be planned or compiled is left to who
/// runs it.
void compile_together(std::span<const RunForm> forms);

}  // namespace sinter::test
