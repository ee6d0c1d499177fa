// Explanation: which kernels a graph becomes on a GPU, why, and what they will do, found out
// without one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinter/device.h"
#include "sinter/executable.h"
#include "sinter/graph.h"
#include "sinter/options.h"
#include "sinter/profile.h"
#include "sinter/report.h"

namespace sinter {

/// How a kernel accesses one of its arrays: bytes of one instruction of one thread, 0 for none.
struct AccessReport {
  /// As the graph names it. Arrays that sections which run the same code have in the same place are
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
  double instructions = 0;  ///< of single threads, besides loads and stores, as predicted
  /// What `add_profile` knows of it.
  std::optional<KernelProfile> measured = {};

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

/// A value that was recorded and that outputs or updates need, and what became of it.
struct RecordedNode {
  std::string name;  ///< as the graph's text has it
  std::string op;
  std::string text;  ///< `s = sum e {axes = [1], keep = true}`
  std::string dtype;
  std::string shape;  ///< `[rows, 512]`
  std::string label;  ///< that its user gave it; empty: none
  std::string place;  ///< `model.cpp:42`
  /// Operands, by their place in Explanation::nodes; numbers that the text shows inline are none.
  std::vector<int> operands = {};
  /// `input`, `scalar`, `number`; `computed` by kernels; a `view`, which they see through; or
  /// `simplified`: rewritten, so that nothing of it is left to compute.
  std::string role;
  /// Groups that compute it, or that see through it: several, where it is computed again.
  std::vector<std::string> groups = {};
  std::vector<std::string> emitted_as = {};  ///< what kernels call the values that came of it
  std::vector<std::string> outputs = {};     ///< that it is, by name
  std::string updates;                       ///< the input that it is written into; empty: none
};

/// An array that a group reads or writes.
struct ArrayUse {
  std::string array;  ///< as the graph names it
  std::string kind;   ///< `input`, `output`, or `temporary`: in memory of the program's own
  std::int64_t bytes = 0;
  std::vector<std::string> from = {};  ///< of what is read: the groups that wrote it
};

/// A fused group: a kernel, or one of the sections of a horizontally fused kernel.
struct GroupExplanation {
  std::string name;  ///< as boundaries say it
  int kernel = 0;    ///< its place in Explanation::kernels
  std::string kind;
  int phase = 0;  ///< of a section: what it needs of others is done in the phases before
  int list = -1;  ///< sections of one number run the same code on arrays of their own
  std::vector<ArrayUse> reads = {};
  std::vector<ArrayUse> writes = {};
};

/// What predictions take of the GPU: the roofs of a roofline.
struct TargetExplanation {
  double bytes_per_second = 0;         ///< that long streams reach
  double instructions_per_second = 0;  ///< of single threads
  double launch_us = 0;                ///< fixed cost of one kernel in a CUDA Graph
  std::int64_t bytes_in_flight = 0;    ///< per SM, needed to reach that bandwidth
};

struct Explanation {
  std::string graph;
  std::string target;  ///< `h200`
  std::string arch;    ///< `sm_90`
  TargetExplanation roofs = {};
  std::vector<std::string> sizes;  ///< `rows = 2048`
  int recorded_ops = 0;
  std::vector<RecordedNode> nodes;  ///< operands first
  std::vector<GroupExplanation> groups;
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
  std::string measured_on;  ///< what `add_profile` and `add_tuning` know is of; empty: nothing
};

/// Plans and emits `graph` for these sizes and `options.target`, and, where there is NVRTC,
/// compiles every kernel under its default schedule. Of `options`, how to round and compute, `skip`
/// and `fuse` matter too. No device is asked for. Throws UserError for sizes or a target that mean
/// nothing, CompileError for a kernel that NVRTC refuses.
Explanation explain(const Graph& graph, std::span<const Size> sizes, const Options& options = {});
Explanation explain(const Graph& graph, std::initializer_list<Size> sizes = {},
                    const Options& options = {});
/// The same of what `compile` plans for `device`: for that very GPU, or for `options.target` on the
/// host device. What is measured there fits it.
Explanation explain(const Graph& graph, std::span<const Size> sizes, Device device,
                    const Options& options = {});

/// Adds what was measured of the same graph at the same sizes: times of kernels, or the tuning
/// table of each. Throws UserError where the kernels are others.
void add_profile(Explanation& explanation, const Profile& profile);
void add_tuning(Explanation& explanation, const Report& report);

/// As JSON; runtime/observe/explain.schema.json says what is in it.
std::string explanation_json(const Explanation& explanation);
/// As one HTML page that needs nothing else: the recorded graph with its groups, and for each
/// kernel its source, schedule and figures.
std::string explanation_html(const Explanation& explanation);

}  // namespace sinter
