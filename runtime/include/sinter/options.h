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
  quick,  ///< at most a dozen candidates per kernel, a few rounds each; what is known is not timed
  wide,   ///< the same candidates, timed for longer, at each size
};

/// Whether kernels that were compiled, and what was found out in tuning, are kept on disk.
enum class CacheMode : std::uint8_t {
  off,
  read_only,   ///< what is there is used; it may belong to root, and nothing is written
  read_write,  ///< and what is missing is added
};

/// The disk cache: compiled kernels with their source beside them, and how fast their candidates
/// are, shared by processes. A folder that others could write to is not used; the Report says so.
struct CacheOptions {
  CacheMode mode = CacheMode::read_write;
  /// Empty: $SINTER_CACHE_DIR, else sinter in $XDG_CACHE_HOME or ~/.cache.
  std::string directory = {};
  std::int64_t max_bytes = std::int64_t{4} << 30;  ///< what was used longest ago goes first
  /// Compile what the cache has once more, and throw CompileError where that makes anything else.
  bool verify = false;
  friend bool operator==(const CacheOptions&, const CacheOptions&) = default;
};

/// Read once by `compile` and passed down. Who runs a program has the last word in some:
/// SINTER_CACHE, SINTER_CACHE_BYTES, SINTER_VERIFY, SINTER_DEBUG, SINTER_TRACE and
/// SINTER_IDLE_BYTES count more than what is set here. docs/reference/options.md has the table.
struct Options {
  Tune tune = Tune::quick;
  Rounding rounding = Rounding::as_recorded;
  Math math = Math::accurate;
  bool fuse = true;                    ///< false: one kernel per node of the graph
  std::vector<std::string> skip = {};  ///< compiler passes to leave out, by name
  std::vector<std::string> dump = {};  ///< stages to write to files: graph simplify fuse …
  std::string dump_directory = "sinter-dump";
  /// Gets one line per variant, and one per candidate that tuning had to drop, when set. It must
  /// not use the Executable. With `never_stall` the background calls it too: on a thread of its
  /// own, and perhaps after the last handle of the Executable is gone (see await_background).
  std::function<void(std::string_view line)> log = {};
  /// 0 … 4: what is told, to `log` or else on stderr. 1: what is planned and why; 2: each kernel's
  /// schedule and tuning too; 3: passes, and what the caches had; 4: every launch.
  int debug = 0;
  /// A file: what was done when, for Perfetto and chrome://tracing. A process writes one at a time:
  /// naming another completes the first.
  std::string trace = {};
  std::string target = {};  ///< host device and explain: the GPU to plan for; empty: h200
  CacheOptions cache = {};
  /// How many bytes that Arrays and Contexts gave back a device keeps for the next ones; -1: as
  /// many as it does, at first an eighth of a GPU's memory, and none on the host device.
  std::int64_t idle_bytes = -1;
  bool also_nvrtc = false;  ///< host device: compile each kernel by NVRTC too, and report on it
  bool count = false;       ///< host device: count the bytes that each launch touches
  /// Host device: false leaves kernels as the C++ compiler first writes them, which takes it less
  /// than half the time. They are slower; their bits are the same.
  bool optimize_host = true;
  /// The first run of a class of sizes has the default schedules, for whose compilation it waits
  /// unless a cache has them, while candidates are compiled and measured in the background. Later
  /// runs take what was found, with the same bits.
  bool never_stall = false;
  int force_candidate =
      -1;  ///< >= 0: this candidate of every kernel (the last, if fewer); no tuning
};

/// `options` changed by SINTER_DUMP=fuse,source, SINTER_SKIP=fold, SINTER_TUNE=off|quick|wide and
/// the other variables of the table in docs/reference/options.md, where they are set. Throws UserError on a
/// value that means nothing.
Options options_from_environment(Options options = {});

}  // namespace sinter
