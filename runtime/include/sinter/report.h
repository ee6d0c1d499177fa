// Report: the kernels of an Executable, with their schedules, costs and reasons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinter {

/// The tuning result of one schedule of a kernel.
struct CandidateReport {
  std::string schedule;  ///< `threads 256, vector 4, unroll 2`
  double median_us = 0;  ///< of one launch with a cold L2; 0: not timed
  double lower_quartile_us = 0;
  double upper_quartile_us = 0;
  double gigabytes_per_second = 0;  ///< predicted bytes / median
  int registers = 0;                ///< per thread; 0 on the host device
  bool chosen = false;
  std::string problem;   ///< why it was dropped; empty: it was not
  bool differs = false;  ///< dropped because its result differs from the default's: a bug in sinter
};

/// NVRTC's output for a kernel, even if the kernel itself runs on the host device.
struct CubinReport {
  std::string arch;     ///< `sm_90`; empty: not compiled by NVRTC
  std::string reason;   ///< why NVRTC did not compile it although it was requested
  int registers = 0;    ///< per thread
  int spill_bytes = 0;  ///< per thread
  std::int64_t instructions = 0;
  int loads_in_flight = 0;  ///< global loads of a thread before it waits for one of them
  /// Loads in front of the wait for earlier kernels. Only a kernel with 0 of them starts early.
  int loads_before_wait = 0;
  std::int64_t bytes_in_flight = 0;  ///< bytes of these loads, per thread
  std::int64_t cubin_bytes = 0;      ///< of the program with the kernel and its other candidates
  double compile_ms = 0;             ///< of that program
};

/// One section of a horizontally fused kernel.
struct SectionReport {
  std::string name;  ///< as in boundaries
  int phase = 0;     ///< the sections that it depends on run in earlier phases
  std::string kind;
  int list = -1;  ///< sections with the same index run the same code on other arrays; -1: none
};

struct KernelReport {
  std::string name;
  std::string kind;  ///< pointwise, row_reduce, …; horizontal: several sections
  std::vector<SectionReport> sections;  ///< of a horizontally fused kernel, by phase
  std::vector<std::string> nodes;       ///< as in the text form, in order
  std::vector<std::string> places;      ///< source location of each node: `model.cpp:42`
  std::string schedule;
  std::string source;           ///< the emitted function, without the prelude
  int launches = 0;             ///< per run; 0 where a size is zero
  std::int64_t bytes_read = 0;  ///< predicted
  std::int64_t bytes_written = 0;
  std::int64_t bytes_sent = 0;  ///< of a collective: the fewest from each rank to other ranks
  bool bytes_are_bounds = false;   ///< addresses are read from data: bytes_read is an upper bound
  bool writes_are_bounds = false;  ///< the same for bytes_written
  std::int64_t minimal_bytes = 0;  ///< each array read once and each result written once
  int threads = 0;                 ///< per block
  std::int64_t grid = 0;           ///< blocks
  /// With fewer blocks at once, more bytes than predicted move. 0: blocks make no difference.
  std::int64_t planned_blocks = 0;
  int cluster = 1;       ///< blocks per cluster, which share rows
  int vector_bytes = 0;  ///< of the widest load or store
  int registers = 0;     ///< per thread; of the cubin on the host device
  int spill_bytes = 0;
  std::int64_t shared_bytes = 0;
  double compile_ms = 0;  ///< of the program that it is in; 0: it came from a cache
  CubinReport cubin;
  std::vector<std::string> notes;           ///< reasons why it is not faster
  std::vector<CandidateReport> candidates;  ///< the heuristic's choice first
  std::string tuning;                       ///< how the choice was made, in a sentence
};

struct BoundaryReport {
  std::string producer;
  std::string consumer;
  std::string reason;
  bool is_inside = false;  ///< both are sections of one horizontally fused kernel
  std::int64_t bytes = 0;  ///< bytes through memory that one kernel for both would not move
};

/// The kernels of one size class.
struct VariantReport {
  std::string reason;  ///< why it was planned: the guard of earlier variants that failed
  /// Options::never_stall: the background is making the variant that replaces this one.
  bool is_provisional = false;
  std::string background_problem;   ///< why there is no replacement; empty: nothing failed
  std::vector<std::string> sizes;   ///< those it was planned for: `rows = 2048`
  std::vector<std::string> guards;  ///< conditions on the sizes that share it
  std::int64_t alignment = 0;       ///< bytes, of every pointer
  std::int64_t arena_bytes = 0;
  std::vector<KernelReport> kernels;
  std::vector<BoundaryReport> boundaries;
  double plan_ms = 0;
  double compile_ms = 0;  ///< wall time, all kernels
  double tune_ms = 0;
};

/// The kernel cache and the compilers, since the start of the process: in a Report for one device,
/// in Counters for all devices.
struct CompileCounters {
  std::int64_t hits = 0;      ///< kernels that the cache had
  std::int64_t misses = 0;    ///< kernels that it did not have
  std::int64_t compiles = 0;  ///< compiler runs
  std::int64_t evicted = 0;   ///< kernels that were unloaded because the cache was full
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
  std::vector<Reason> reasons;  ///< of misses and failed stores
  std::string last_failure;     ///< the last system error, with the file; empty: none
  std::string directory;
  std::string why_off;  ///< why the cache is off; empty: it is on
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
