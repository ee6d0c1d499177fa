// Explanation: which kernels a graph becomes on a GPU, why, and what they will do, found out
// without one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "sinter/executable.h"
#include "sinter/graph.h"
#include "sinter/options.h"
#include "sinter/report.h"

namespace sinter {

/// How a kernel accesses one of its arrays: bytes of one instruction of one thread, 0 for none.
struct AccessReport {
  /// As the graph names it. Arrays that members which run the same code have in the same place are
  /// one: `w0 and 23 more`. Last `an unknown array`, where an access is of none of them.
  std::string array;
  int predicted_load_bytes = 0;            ///< of the widest load that the schedule means
  int predicted_narrowest_load_bytes = 0;  ///< of the narrowest one, tails included
  int load_bytes = 0;                      ///< of the widest one in the PTX
  int narrowest_load_bytes = 0;
  int predicted_store_bytes = 0;
  int predicted_narrowest_store_bytes = 0;
  int store_bytes = 0;
  int narrowest_store_bytes = 0;
  /// Which access is narrower than predicted, or of no known array, and where; empty if none is.
  std::string problem;
};

/// A kernel under the schedule that is taken without tuning.
struct KernelExplanation {
  std::string name;         ///< as boundaries say it: `softmax_0`
  KernelReport report;      ///< registers, spills and compile time as NVRTC says
  double predicted_us = 0;  ///< of one launch in a CUDA Graph with a cold L2

  // What follows is read from the PTX and the cubin; 0 and empty without NVRTC.
  bool is_compiled = false;
  std::vector<AccessReport> arrays;
  int independent_loads = 0;  ///< of one thread, before it waits for any of them
  /// A launch may begin while those in front of it end: the kernel waits before it reads anything.
  bool may_start_early = false;
  /// That are resident at once, as far as the grid goes. At most so many where blocks form
  /// clusters: those of one must find places on SMs of one GPC at once, which may leave others
  /// empty.
  int blocks_per_sm = 0;
  double occupancy = 0;  ///< their threads, of those that an SM has room for
  /// Of loads per SM, before anything waits for one; no more than its blocks read at all.
  std::int64_t bytes_in_flight = 0;
};

struct Explanation {
  std::string graph;
  std::string target;  ///< `h200`
  std::string arch;    ///< `sm_90`
  int recorded_ops = 0;
  std::vector<KernelExplanation> kernels;
  std::vector<BoundaryReport> boundaries;
  std::vector<std::string> guards;  ///< what the kernels assume of the sizes
  std::string why_not_compiled;     ///< why there is no NVRTC; empty if there is
  std::int64_t launches = 0;
  std::int64_t bytes = 0;          ///< that all kernels read and write, as predicted
  std::int64_t minimal_bytes = 0;  ///< of the whole graph: inputs once, outputs once
  std::int64_t unfused_bytes = 0;  ///< with one kernel per node
  std::int64_t unfused_launches = 0;
  double predicted_us = 0;  ///< the sum over all kernels
};

/// Plans and emits `graph` for these sizes and `options.target`, and, where there is NVRTC,
/// compiles every kernel under its default schedule. Of `options`, how to round and compute, `skip`
/// and `fuse` matter too. No device is asked for. Throws UserError for sizes or a target that mean
/// nothing, CompileError for a kernel that NVRTC refuses.
Explanation explain(const Graph& graph, std::span<const Size> sizes, const Options& options = {});
Explanation explain(const Graph& graph, std::initializer_list<Size> sizes = {},
                    const Options& options = {});

}  // namespace sinter
