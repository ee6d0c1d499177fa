// One run of a graph on a device, with what it gave and what it cost.
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

/// What a run wrote. An updated input may share its name with an output.
struct Result {
  std::string name;
  bool is_update = false;
  HostArray array;
};

struct GraphRun {
  std::vector<Result> results;  ///< outputs, then updated inputs, in the order of the graph
  std::int64_t launches = 0;
  std::optional<std::int64_t> bytes_read;  ///< counted; only the host device can
  std::optional<std::int64_t> bytes_written;
  std::string device;
  std::string target;
  std::vector<double> wall_us;  ///< of each run, from its call until the device is done
  std::string unrepeatable;     ///< which run gave other bits than the first, and where; or empty
};

/// `host` or `cuda`; empty: a GPU if there is one, else the host device.
Device device_called(const std::string& name);

struct RunRequest {
  Device device;
  const char* file = "a graph";           ///< where it is from, for errors
  std::span<const std::int64_t> symbols;  ///< by id
  bool fuse = true;
  Numerics numerics = {};
  int runs = 1;                        ///< on the same inputs
  bool replay = false;                 ///< as one launch of a CUDA Graph
  std::string target = {};             ///< host device only: the GPU to plan for; empty: its own
  const Executable* loaded = nullptr;  ///< what to run in place of compiling the graph
};

/// As the environment asks, with what `request` says of fusion, numerics and target; `tune` where
/// the environment asks for nothing.
Options options_for(const RunRequest& request, Tune tune);
/// `symbols`, by id, with their names, which belong to `graph`.
std::vector<Size> named_sizes(const Graph& graph, std::span<const std::int64_t> symbols);

struct MeasuredGraph {
  Profile profile;
  Report report;  ///< with the tuning tables
};

/// Compiles and tunes `graph`, and times each of its kernels.
MeasuredGraph profile_graph(const Graph& graph, const HostArrays& inputs, const RunRequest& request,
                            int repeats);

/// What a call takes by the wall clock.
struct CallTimes {
  Quartiles waited;            ///< microseconds from the call until the device is done
  double back_to_back_us = 0;  ///< of one of many calls, none of which is waited for
};

struct GraphTimes {
  CallTimes run;
  CallTimes replay;
  Profile profile;
};

/// Compiles and tunes `graph`, and times its runs, its replays and each of its kernels.
GraphTimes time_graph(const Graph& graph, const HostArrays& inputs, const RunRequest& request,
                      int repeats);

/// Compiles `graph` and runs it on `inputs` (and scalars, of rank 0), `request.runs` times: each
/// begins with the same inputs, and must give the same bits. Throws what these throw.
/// Any number of threads may call it; on the host device they compile at once and run in turn.
GraphRun run_graph(const Graph& graph, const HostArrays& inputs, const RunRequest& request);

}  // namespace sinter::command
