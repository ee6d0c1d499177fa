// Options: everything that a caller may decide about how a graph is compiled and run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/numerics.h"

namespace sinter {

/// How hard the best schedule of each kernel is looked for. It never changes a bit of a result.
enum class Tune : std::uint8_t {
  off,    ///< the heuristic's choice; no other is compiled
  quick,  ///< at most a dozen candidates per kernel, a few rounds each
  wide,   ///< the same candidates, timed for longer
};

/// Read once by `compile` and passed down.
struct Options {
  Tune tune = Tune::quick;
  Rounding rounding = Rounding::as_recorded;
  Math math = Math::accurate;
  bool fuse = true;                    ///< false: one kernel per node of the graph
  std::vector<std::string> skip = {};  ///< compiler passes to leave out, by name
  std::vector<std::string> dump = {};  ///< stages to write to files: graph simplify fuse …
  std::string dump_directory = "sinter-dump";
  /// Gets one line per variant, and one per candidate that tuning had to drop, when set. It must
  /// not use the Executable.
  std::function<void(std::string_view line)> log = {};
  std::string target = {};  ///< host device and explain: the GPU to plan for; empty: h200
  bool also_nvrtc = false;  ///< host device: compile each kernel by NVRTC too, and report on it
  bool count = false;       ///< host device: count the bytes that each launch touches
  /// Host device: false leaves kernels as the C++ compiler first writes them, which takes it less
  /// than half the time. They are slower; their bits are the same.
  bool optimize_host = true;
  int force_candidate =
      -1;  ///< >= 0: this candidate of every kernel (the last, if fewer); no tuning
};

/// `options` changed by SINTER_DUMP=fuse,source, SINTER_SKIP=fold and SINTER_TUNE=off|quick|wide,
/// where they are set. Throws UserError on a value that means nothing.
Options options_from_environment(Options options = {});

}  // namespace sinter
