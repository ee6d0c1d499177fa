// Why a graph becomes the kernels that it becomes, and what they cost: everything that is known
// without a device.
#pragma once

#include "compiler/target.h"
#include "sinter/graph.h"
#include "sinter/numerics.h"
#include "sinter/report.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::command {

struct KernelExplanation {
  std::string name;                  ///< as boundaries and `--kernel` say it: `softmax_0`
  KernelReport report;               ///< without registers and spills, which are the cubin's
  std::optional<CubinReport> cubin;  ///< none where there is no NVRTC
  int blocks_per_sm = 0;             ///< of the cubin, that one SM holds at once
};

struct Explanation {
  std::string graph;
  const Target* target = nullptr;
  std::string sizes;
  int recorded_ops = 0;
  std::vector<KernelExplanation> kernels;
  std::vector<BoundaryReport> boundaries;
  std::vector<std::string> guards;
  std::string why_no_nvrtc;  ///< empty if kernels were compiled
  std::int64_t launches = 0;
  std::int64_t bytes = 0;          ///< that all kernels read and write
  std::int64_t minimal_bytes = 0;  ///< of the whole graph
  std::int64_t unfused_bytes = 0;  ///< with one kernel per node
  std::int64_t unfused_launches = 0;
};

/// Plans, emits and, where there is NVRTC, compiles. Throws what these throw.
Explanation explain(const Graph& graph, const Target& target, std::span<const std::int64_t> symbols,
                    Numerics numerics);

}  // namespace sinter::command
