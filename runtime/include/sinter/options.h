// Options: the settings that control how a graph is compiled and run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/numerics.h"

namespace sinter {

/// The effort to find the fastest schedule of each kernel. It never changes a bit of a result.
enum class Tune : std::uint8_t {
  off,    ///< use the heuristic's choice; no other schedule is compiled
  quick,  ///< time at most a dozen candidates per kernel, a few rounds each; reuse known times
  wide,   ///< time the same candidates for longer, at each size
};

/// The use of the disk cache.
enum class CacheMode : std::uint8_t {
  off,
  read_only,   ///< read entries, write nothing; the folder may belong to root
  read_write,  ///< also add missing entries
};

/// The disk cache, which processes share. It holds compiled kernels, their source, and the measured
/// times of their candidates. A folder that others can write to is not used; the Report says so.
struct CacheOptions {
  CacheMode mode = CacheMode::read_write;
  /// Empty: $SINTER_CACHE_DIR, else sinter in $XDG_CACHE_HOME or ~/.cache.
  std::string directory = {};
  std::int64_t max_bytes = std::int64_t{4} << 30;  ///< beyond it, the least recently used go
  /// Compile cached kernels once more, and throw CompileError if the result differs.
  bool verify = false;
  friend bool operator==(const CacheOptions&, const CacheOptions&) = default;
};

/// `compile` reads the options once and passes them down. Some environment variables override them:
/// SINTER_CACHE, SINTER_CACHE_BYTES, SINTER_VERIFY, SINTER_DEBUG, SINTER_TRACE, SINTER_TARGET_FILE
/// and SINTER_IDLE_BYTES. docs/reference/options.md has the table.
struct Options {
  Tune tune = Tune::quick;
  Rounding rounding = Rounding::as_recorded;
  Math math = Math::accurate;
  bool fuse = true;                    ///< false: one kernel per node of the graph
  /// The most bytes of operands of collectives that become one call. They are of one kind, and none
  /// needs the result of another. All ranks must have the same value. 0: each is a call. The default
  /// is that of PyTorch.
  std::int64_t bucket_bytes = 25 << 20;
  std::vector<std::string> skip = {};  ///< compiler passes to leave out, by name
  std::vector<std::string> dump = {};  ///< stages to write to files: graph simplify fuse …
  std::string dump_directory = "sinter-dump";
  /// Receives the log lines of `debug` instead of stderr. If set, it also receives one line per
  /// variant and one per candidate that tuning had to drop. It must not use the Executable. With
  /// `never_stall` a background thread calls it too, perhaps after the last handle of the
  /// Executable is gone (see await_background).
  std::function<void(std::string_view line)> log = {};
  /// The log level, 0 to 4. 1: plans and their reasons. 2: also each kernel's schedule and tuning.
  /// 3: also passes and cache lookups. 4: also every launch.
  int debug = 0;
  /// A file for a timeline that Perfetto and chrome://tracing show. A process writes one file at a
  /// time: a new name completes the previous file.
  std::string trace = {};
  /// A file with measured constants of the GPU to plan for, in place of assumptions: launch costs,
  /// barriers, bandwidth. bench/measure_gpu writes it. Empty: the assumptions.
  std::string target_file = {};
  /// Host device and explain: the GPU to plan for, or `cpu` for schedules of the CPU itself. Empty:
  /// that of SINTER_HOST_TARGET, else `cpu`; h200 for explain without a device, and instead of
  /// `cpu` with also_nvrtc.
  std::string target = {};
  CacheOptions cache = {};
  /// The bytes of released memory of Arrays and Contexts that a device keeps for reuse. The value
  /// -1 leaves the setting of the device, at first an eighth of a GPU's memory and 0 on the host
  /// device.
  std::int64_t idle_bytes = -1;
  bool also_nvrtc = false;  ///< host device: also compile each kernel with NVRTC, for the report
  bool count = false;       ///< host device: count the bytes that each launch touches
  /// Host device: false compiles without optimisation, which takes less than half the time. Kernels
  /// are slower; their bits are the same.
  bool optimize_host = true;
  /// GPUs: hand PTX to the driver instead of machine code. The driver compiles it when it loads the
  /// kernels. No kernel starts before earlier launches have ended.
  bool ptx = false;
  /// The first run of a size class uses the default schedules. It waits for their compilation
  /// unless a cache has them. Candidates are compiled and measured in the background; later runs
  /// use the fastest, with the same bits.
  bool never_stall = false;
  /// From 1 on: the number of runs of a Context with equal sizes of all symbols. Then the program
  /// is compiled in the background for exactly these sizes. Later runs with them, in all Contexts,
  /// use those kernels, with the same bits. At most 16 sizes per Executable. 0, and for programs with
  /// collectives: never.
  int specialize = 0;
  int force_candidate =
      -1;  ///< >= 0: this candidate of every kernel (the last, if fewer); no tuning
};

/// Returns `options` with the environment variables applied that are set: SINTER_DUMP=fuse,source,
/// SINTER_SKIP=fold, SINTER_TUNE=off|quick|wide and the others in docs/reference/options.md. Throws
/// UserError on an invalid value.
Options options_from_environment(Options options = {});

}  // namespace sinter
