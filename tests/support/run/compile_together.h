// Compiles the kernels of many later runs in few runs of the C++ compiler.
#pragma once

#include "sinter/graph.h"
#include "sinter/options.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sinter::test {

/// A run of a graph on the host device.
struct RunForm {
  const Graph* graph = nullptr;
  std::vector<std::int64_t> symbols;  ///< by id
  Options options = {};               ///< with `count`
  std::int64_t alignment = 16;        ///< of all pointers, in bytes
};

/// Compiles the kernels of all forms, with counting, into the kernel cache. Each run of the
/// compiler costs as much as a few kernels. Ignores errors, which the runs report.
void compile_together(std::span<const RunForm> forms);

}  // namespace sinter::test
