// Running graphs on a device and judging everything that a run promises: the backbone of the host
// and gpu tiers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ir/shape/host_array.h"
#include "sinter/sinter.h"

namespace sinter::test {

/// Tests compile what they test: what is on disk has no say, unless a test asks for it.
inline const bool kHasNoDiskCache = setenv("SINTER_CACHE", "off", /*overwrite=*/0) == 0;

/// What one run of a graph gave.
struct RunResult {
  HostArrays results;  ///< outputs, and updated inputs, by name
  Report report;
  std::int64_t launches = 0;    ///< counted by the host driver
  std::int64_t bytes_read = 0;  ///< the same, with Options::count
  std::int64_t bytes_written = 0;
};

struct RunRequest {
  std::vector<std::int64_t> symbols;  ///< by id
  Options options = {.tune = Tune::off};
  bool as_graph = false;          ///< replayed, twice, with everything in fresh places
  std::int64_t misalignment = 0;  ///< bytes that every array starts past a multiple of 256
};

/// Runs `graph` once on `inputs` (and scalars, of rank 0). The padding of results is left out.
RunResult run_graph(const Graph& graph, Device device, const HostArrays& inputs,
                    const RunRequest& request);

/// Runs what `graph` was compiled to, or what was loaded from a file.
HostArrays run_executable(const Executable& executable, const Graph& graph,
                          const HostArrays& inputs, const RunRequest& request);

struct CheckSettings {
  std::uint64_t seed = 1;
  bool candidates = true;   ///< every candidate schedule of every kernel, one after the other
  bool replay = true;       ///< also replayed
  bool misaligned = false;  ///< also with pointers that are aligned to one element only
  /// The first run's kernels are optimised, all others' are not: takes the compiler twice as long.
  bool optimized = false;
  Options options = {};
};

/// Runs `graph` for `sizes` (`{{"rows", 64}}`) on the host device and fails the running test unless
///  - every output and update is within the oracle's bounds,
///  - unfused, replayed and every candidate give the same bits as the default,
///  - each launch touches the bytes that were predicted, and nothing outside its arrays.
/// Failures show the graph, the kernels and the first bad index. Returns the fused run.
RunResult run_and_check(const Graph& graph, std::vector<Size> sizes = {},
                        const CheckSettings& settings = {});
/// The same for a graph in text form.
RunResult run_and_check(std::string_view text, std::vector<Size> sizes = {},
                        const CheckSettings& settings = {});

/// The same checks without the counted ones on any device, such as a GPU.
RunResult run_and_check_on(Device device, const Graph& graph, std::vector<Size> sizes = {},
                           const CheckSettings& settings = {});

}  // namespace sinter::test
