// Explanation: the kernels that a graph becomes on a GPU, the reasons, and the predicted cost.
// Needs no GPU.
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

/// The widths of a kernel's accesses to one of its arrays: bytes per instruction and thread. 0 if
/// there is no access.
struct AccessReport {
  /// The name in the graph. Sections that run the same code share one entry for the arrays in the
  /// same position: `w0 and 23 more`. The last entry is `an unknown array` if an access belongs to
  /// no array.
  std::string array;
  int predicted_load_bytes = 0;            ///< of the widest load in the schedule
  int predicted_narrowest_load_bytes = 0;  ///< of the narrowest load, tails included
  int load_bytes = 0;                      ///< of the widest load in the PTX
  int narrowest_load_bytes = 0;
  int predicted_store_bytes = 0;
  int predicted_narrowest_store_bytes = 0;
  int store_bytes = 0;
  int narrowest_store_bytes = 0;
  /// The first access that is narrower than predicted or belongs to no known array, with its PTX
  /// line. Empty if there is none.
  std::string problem;
};

/// A kernel with its default schedule, which is used without tuning.
struct KernelExplanation {
  std::string name;         ///< as in boundaries: `softmax_0`
  KernelReport report;      ///< registers, spills and compile time are NVRTC's
  double predicted_us = 0;  ///< of one launch in a CUDA Graph with a cold L2
  double instructions = 0;  ///< predicted, summed over threads, without loads and stores
  /// The times that `add_profile` added.
  std::optional<KernelProfile> measured = {};

  // The fields below come from the PTX and the cubin; 0 and empty without NVRTC.
  bool is_compiled = false;
  std::vector<AccessReport> arrays;
  int independent_loads = 0;  ///< per thread, in flight before it waits for one of them
  /// True if a launch may begin while earlier kernels still run (programmatic dependent launch).
  /// The kernel waits for them, and its machine code has no load in front of the wait.
  bool may_start_early = false;
  /// Blocks that are resident at once, limited by the grid. An upper bound for clusters: all blocks
  /// of a cluster need SMs of one GPC at once, which may leave other SMs empty.
  int blocks_per_sm = 0;
  double occupancy = 0;  ///< share of an SM's threads in them
  /// Bytes of loads in flight per SM before a thread waits, at most those that its blocks read.
  std::int64_t bytes_in_flight = 0;
};

/// A recorded value that outputs or updates need, and the kernels that compute it.
struct RecordedNode {
  std::string name;  ///< as in the text form of the graph
  std::string op;
  std::string text;  ///< `s = sum e {axes = [1], keep = true}`
  std::string dtype;
  std::string shape;  ///< `[rows, 512]`
  std::string label;  ///< given by the user; empty: none
  std::string place;  ///< `model.cpp:42`
  /// Operands, as indices in Explanation::nodes. Numbers that the text shows inline are left out.
  std::vector<int> operands = {};
  /// `input`, `scalar` or `number`; `computed` by kernels; `view`, if kernels only index through
  /// it; `simplified`, if it was rewritten and nothing of it is left to compute.
  std::string role;
  /// Groups that compute it or index through it; several if it is rematerialized.
  std::vector<std::string> groups = {};
  std::vector<std::string> emitted_as = {};  ///< names of its values in the emitted code
  std::vector<std::string> outputs = {};     ///< names of the outputs that it is
  std::string updates;                       ///< the input that it is written into; empty: none
};

/// An array that a group reads or writes.
struct ArrayUse {
  std::string array;  ///< the name in the graph
  std::string kind;   ///< `input`, `output`, or `temporary`: scratch memory of the program
  std::int64_t bytes = 0;
  std::vector<std::string> from = {};  ///< of a read array: the groups that wrote it
};

/// A fused group: a kernel, or one of the sections of a horizontally fused kernel.
struct GroupExplanation {
  std::string name;  ///< as in boundaries
  int kernel = 0;    ///< index in Explanation::kernels
  std::string kind;
  int phase = 0;  ///< of a section: the sections that it depends on run in earlier phases
  int list = -1;  ///< sections with the same index run the same code on other arrays; -1: none
  std::vector<ArrayUse> reads = {};
  std::vector<ArrayUse> writes = {};
};

/// The limits of the GPU that predictions use: the roofs of a roofline.
struct TargetExplanation {
  double bytes_per_second = 0;         ///< achievable for long streams
  double instructions_per_second = 0;  ///< summed over threads
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
  std::vector<std::string> guards;  ///< assumptions of the kernels about the sizes
  std::string why_not_compiled;     ///< why NVRTC compiled nothing; empty if it did
  std::int64_t launches = 0;
  std::int64_t bytes = 0;          ///< predicted reads and writes of all kernels
  std::int64_t minimal_bytes = 0;  ///< of the whole graph: inputs once, outputs once
  std::int64_t unfused_bytes = 0;  ///< with one kernel per node
  std::int64_t unfused_launches = 0;
  double predicted_us = 0;  ///< the sum over all kernels
  std::string measured_on;  ///< device of the added profile or tuning; empty: none was added
};

/// Plans and emits `graph` for these sizes and `options.target`. If NVRTC is available, this also
/// compiles every kernel with its default schedule, or with `options.force_candidate`. The options
/// `rounding`, `math`, `skip` and `fuse` matter too. Needs no device. Throws UserError for invalid
/// sizes or an unknown target, CompileError for a kernel that NVRTC rejects.
Explanation explain(const Graph& graph, std::span<const Size> sizes, const Options& options = {});
Explanation explain(const Graph& graph, std::initializer_list<Size> sizes = {},
                    const Options& options = {});
/// Explains the plan that `compile` makes for `device`: for that GPU, or for `options.target` on
/// the host device. Profiles and reports from that device can be added to the result.
Explanation explain(const Graph& graph, std::span<const Size> sizes, Device device,
                    const Options& options = {});

/// Add measurements of the same graph at the same sizes: the times of kernels, or the tuning table
/// of each. Throw UserError if the graph or the number of kernels differs, or for a profile, the
/// sizes.
void add_profile(Explanation& explanation, const Profile& profile);
void add_tuning(Explanation& explanation, const Report& report);

/// The explanation as JSON. Its schema is runtime/observe/explain.schema.json.
std::string explanation_json(const Explanation& explanation);
/// The explanation as one self-contained HTML page: the recorded graph with its groups, and the
/// source, schedule and figures of each kernel.
std::string explanation_html(const Explanation& explanation);

}  // namespace sinter
