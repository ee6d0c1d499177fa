// Runs, profiles or times a graph on a device, and returns results and costs.
#pragma once

#include "ir/shape/host_array.h"
#include "runtime/support/quartiles.h"
#include "sinter/sinter.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::command {

/// An array that a run wrote. An updated input may have the name of an output.
struct Result {
  std::string name;
  bool is_update = false;
  HostArray array;
};

struct GraphRun {
  std::vector<Result> results;  ///< outputs, then updated inputs, in the order of the graph
  std::int64_t launches = 0;
  std::optional<std::int64_t> bytes_read;  ///< counted; only on the host device
  std::optional<std::int64_t> bytes_written;
  std::string device;
  std::string target;
  std::vector<double> wall_us;    ///< per run, from the call until the device has finished
  std::string repeat_difference;  ///< the first difference in bits between runs; empty if none
};

/// `host` or `cuda`; empty: a GPU if there is one, else the host device.
Device device_named(const std::string& name);

struct RunRequest {
  Device device;
  const char* file = "a graph";           ///< source of the graph, for errors
  std::span<const std::int64_t> symbols;  ///< by id
  bool fuse = true;
  Numerics numerics = {};
  int runs = 1;                        ///< number of runs on the same inputs
  bool replay = false;                 ///< replay a CUDA Graph
  std::string target = {};             ///< host device only: the GPU to plan for; empty: default
  const Executable* loaded = nullptr;  ///< runs this, with its weights, not the graph
};

/// Options from the environment, with the fusion, numerics and target of `request`. `tune` is the
/// default if the environment does not set tuning.
Options options_for(const RunRequest& request, Tune tune);
/// `symbols`, by id, with their names. The names refer to `graph`.
std::vector<Size> named_sizes(const Graph& graph, std::span<const std::int64_t> symbols);

struct MeasuredGraph {
  Profile profile;
  Report report;  ///< with the tuning tables
};

/// Compiles and tunes `graph`, and times each of its kernels.
MeasuredGraph profile_graph(const Graph& graph, const HostArrays& inputs, const RunRequest& request,
                            int repeats);

/// Wall times of a call.
struct CallTimes {
  Quartiles waited;            ///< microseconds from the call until the device has finished
  double back_to_back_us = 0;  ///< per call of a sequence that is only waited for at its end
};

struct GraphTimes {
  CallTimes run;
  CallTimes replay;
  Profile profile;
};

/// Compiles and tunes `graph`, and times its runs, its replays and each of its kernels.
GraphTimes time_graph(const Graph& graph, const HostArrays& inputs, const RunRequest& request,
                      int repeats);

/// Prints that the work of a measurement ran on a device whose times mean nothing.
void print_rehearsal(const Graph& graph, Device device, bool as_json);

/// Compiles `graph` and runs it `request.runs` times on `inputs`, which include scalars of rank 0.
/// Each run starts from the same inputs. Throws what these steps throw. Any number of threads may
/// call it; on the host device they compile concurrently, but run one at a time.
GraphRun run_graph(const Graph& graph, const HostArrays& inputs, const RunRequest& request);

}  // namespace sinter::command
