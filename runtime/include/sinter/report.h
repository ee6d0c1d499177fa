// Report: what an Executable is made of, and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinter {

/// How one schedule of a kernel fared.
struct CandidateReport {
  std::string schedule;  ///< `threads 256, vector 4, unroll 2`
  double median_us = 0;  ///< of one launch with a cold L2; 0: not timed
  double lower_quartile_us = 0;
  double upper_quartile_us = 0;
  double gigabytes_per_second = 0;  ///< predicted bytes by the median
  int registers = 0;                ///< per thread; 0 on the host device
  bool chosen = false;
  std::string problem;   ///< why it was dropped; empty: it was not
  bool differs = false;  ///< dropped for a result that is not the default's: a bug in sinter
};

/// What NVRTC makes of a kernel where the kernel itself runs on the host device.
struct CubinReport {
  std::string arch;     ///< `sm_90`; empty: not compiled by NVRTC
  std::string reason;   ///< why it was not, where it was asked for
  int registers = 0;    ///< per thread
  int spill_bytes = 0;  ///< per thread
  std::int64_t instructions = 0;
  int loads_in_flight = 0;    ///< of global memory, before a thread waits for one of them
  int loads_before_wait = 0;  ///< of a kernel that may start early, before it waits; must be 0
  std::int64_t bytes_in_flight = 0;  ///< that these load, per thread
  std::int64_t cubin_bytes = 0;      ///< of the program that holds it and its other candidates
  double compile_ms = 0;             ///< of that program
};

/// One of several kernels in one launch.
struct SectionReport {
  std::string name;  ///< as in boundaries
  int phase = 0;     ///< what it needs of others is done in the phases before
  std::string kind;
  int list = -1;  ///< sections of one number run the same code on arrays of their own
};

struct KernelReport {
  std::string name;
  std::string kind;  ///< pointwise, row_reduce, …; joined: several in one launch
  std::vector<SectionReport> sections;  ///< of a horizontally fused kernel, by phase
  std::vector<std::string> nodes;       ///< as in the text form, in order
  std::vector<std::string> places;      ///< `model.cpp:42`, where each was recorded
  std::string schedule;
  std::string source;           ///< the emitted function, without the prelude
  int launches = 0;             ///< per run; 0 where a size is zero
  std::int64_t bytes_read = 0;  ///< predicted
  std::int64_t bytes_written = 0;
  bool bytes_are_bounds = false;   ///< addresses are read from data: it reads at most these …
  bool writes_are_bounds = false;  ///< … and writes at most these
  std::int64_t minimal_bytes = 0;  ///< everything it needs read once, and its results written
  int threads = 0;                 ///< per block
  std::int64_t grid = 0;           ///< blocks
  int cluster = 1;                 ///< neighbouring blocks that run at once and share rows
  int vector_bytes = 0;            ///< of the widest load or store
  int registers = 0;               ///< per thread; of the cubin on the host device
  int spill_bytes = 0;
  std::int64_t shared_bytes = 0;
  double compile_ms = 0;  ///< of the compilation that made it; 0: it came from the cache
  CubinReport cubin;
  std::vector<std::string> notes;           ///< why it is not faster, in words
  std::vector<CandidateReport> candidates;  ///< the heuristic's choice first
  std::string tuning;                       ///< how the choice was made, in a sentence
};

struct BoundaryReport {
  std::string producer;
  std::string consumer;
  std::string reason;
  bool is_inside = false;  ///< both are sections of one joined kernel
  std::int64_t bytes = 0;  ///< that cross memory for it: one kernel of both would not move them
};

/// The kernels of one size class.
struct VariantReport {
  std::string reason;  ///< why it was planned: which guard the earlier ones broke
  /// Options::never_stall: what its default schedules stand in for is being made in the background.
  bool is_provisional = false;
  std::string background_problem;   ///< why nothing came of that; empty: nothing failed
  std::vector<std::string> sizes;   ///< those it was planned for: `rows = 2048`
  std::vector<std::string> guards;  ///< what it assumes of all sizes that share it
  std::int64_t alignment = 0;       ///< bytes, of every pointer
  std::int64_t arena_bytes = 0;
  std::vector<KernelReport> kernels;
  std::vector<BoundaryReport> boundaries;
  double plan_ms = 0;
  double compile_ms = 0;  ///< wall time, all kernels
  double tune_ms = 0;
};

/// Since the start of the process, of one device.
struct CompileCounters {
  std::int64_t hits = 0;      ///< kernels that the cache had
  std::int64_t misses = 0;    ///< kernels that it did not have
  std::int64_t compiles = 0;  ///< compiler runs
  std::int64_t evicted = 0;   ///< kernels that were unloaded since there were too many
};

/// The disk cache, since the start of the process.
struct DiskCounters {
  struct Reason {
    std::string text;
    std::int64_t count = 0;
  };
  std::int64_t hits = 0;
  std::int64_t misses = 0;
  std::int64_t stored = 0;
  std::int64_t evicted = 0;
  std::vector<Reason> reasons;  ///< of misses, and of what could not be stored
  std::string last_failure;     ///< of the system, with the file; empty: none
  std::string directory;
  std::string why_off;  ///< why it is not used; empty: it is
};

struct Report {
  std::string graph;
  std::string device;
  std::string target;
  int recorded_ops = 0;
  std::vector<VariantReport> variants;     ///< in the order of planning
  std::vector<KernelReport> kernels;       ///< of the latest variant
  std::vector<BoundaryReport> boundaries;  ///< of the latest variant
  CompileCounters counters;
  DiskCounters disk;
};

/// The tuning tables of `report` as text, one line per candidate.
std::string tuning_table(const Report& report);

}  // namespace sinter
