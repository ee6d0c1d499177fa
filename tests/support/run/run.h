// Runs graphs on a device and checks every guarantee of a run. The host and gpu tiers are built on
// it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ir/shape/host_array.h"
#include "sinter/sinter.h"

namespace sinter::test {

/// Turns the disk cache off, unless SINTER_CACHE is set, so that tests compile the kernels they
/// test.
inline const bool kHasNoDiskCache = setenv("SINTER_CACHE", "off", /*overwrite=*/0) == 0;

/// Makes the host device run the schedules of a GPU, unless SINTER_HOST_TARGET is set, because most
/// tests are about these.
inline const bool kPlansForGpu = setenv("SINTER_HOST_TARGET", "h200", /*overwrite=*/0) == 0;

/// The results and measurements of one run of a graph.
struct RunResult {
  HostArrays results;  ///< outputs, and updated inputs, by name
  HostArrays inputs;   ///< of run_and_check
  Report report;
  std::int64_t launches = 0;    ///< counted by the host driver
  std::int64_t bytes_read = 0;  ///< counted too, with Options::count
  std::int64_t bytes_written = 0;
};

struct RunRequest {
  std::vector<std::int64_t> symbols;  ///< by id
  Options options = {.tune = Tune::off};
  bool as_graph = false;          ///< replays; run_graph replays twice, with new arrays
  std::int64_t misalignment = 0;  ///< offset of every array from a multiple of 256 bytes
  std::vector<GroupCommunicator> communicators = {};  ///< of the groups of collectives
  int runs = 1;  ///< of run_executable on the same arrays; the host does not wait between them
};

/// Runs `graph` once. `inputs` has the arrays, and the run-time scalars as arrays of rank 0.
RunResult run_graph(const Graph& graph, Device device, const HostArrays& inputs,
                    const RunRequest& request);

/// Runs an executable that was compiled from `graph` or loaded from a file.
HostArrays run_executable(const Executable& executable, const Graph& graph,
                          const HostArrays& inputs, const RunRequest& request);

struct CheckSettings {
  std::uint64_t seed = 1;
  bool candidates = true;   ///< also runs every candidate schedule of every kernel
  bool replay = true;       ///< also replays
  bool unfused = true;      ///< also runs without fusion
  bool misaligned = false;  ///< also runs with pointers aligned only to one element.
  /// Optimises the kernels of the first run, and only these. Compiling takes twice as long.
  bool optimized = false;
  Options options = {};
};

/// Runs `graph` for `sizes` (`{{"rows", 64}}`) on the host device. Fails the running test unless
///  - every output and update is within the oracle's bounds,
///  - unfused, replayed and candidate runs give the bits of the default run,
///  - each launch accesses the predicted bytes, and none outside its arrays.
/// Failures show the graph, the kernels and the first bad index. Returns the fused run.
RunResult run_and_check(const Graph& graph, std::vector<Size> sizes = {},
                        const CheckSettings& settings = {});
/// run_and_check for a graph in text form.
RunResult run_and_check(std::string_view text, std::vector<Size> sizes = {},
                        const CheckSettings& settings = {});

/// run_and_check on any device. Counts launches and bytes only on the host device.
RunResult run_and_check_on(Device device, const Graph& graph, std::vector<Size> sizes = {},
                           const CheckSettings& settings = {});

}  // namespace sinter::test
