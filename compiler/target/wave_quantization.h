// Models the bandwidth that a grid of blocks reaches, given its loads in flight and the number of
// waves in which it runs (wave quantization).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compiler/target/target.h"

namespace sinter {

// Some constants follow from published runs of RRZE-HPC/gpu-benches. The L2 ratios are rounded from
// the bandwidth of an H200 and the latencies of a GH200. The minimum bytes of a block follow from
// the rate at which an H200 starts blocks. All other constants here are assumptions.

/// Below this number of waves, a partial last wave matters: it has few loads in flight.
inline constexpr double kFewWaves = 4;
/// A schedule with full waves replaces another if it takes at most this fraction of the other's
/// time.
inline constexpr double kWaveGain = 0.95;
/// The L2 cache: its bandwidth relative to memory, and its latency advantage (loads return this
/// many times sooner).
inline constexpr double kL2BandwidthRatio = 2;
inline constexpr double kL2LatencyGain = 2.5;
/// Store throughput of one SM, as a multiple of its share of the memory's bandwidth.
inline constexpr double kStoreThroughput = 3;
/// Cost of writing states to the workspace so that the last block sees them.
inline constexpr double kLastBlockSeconds = 1e-6;
/// A block that moves fewer bytes costs more to start than to run.
inline constexpr std::int64_t kMinBytesPerBlock = 4096;

/// The bandwidth reached, in bytes per second, with this many bytes in flight per SM. A few loads
/// are served faster than many, which queue behind one another. Half of the bytes that the memory
/// needs in flight reach three quarters of its bandwidth.
double reached_bandwidth(const Target& target, double bytes_in_flight);

/// The blocks of a launch, per SM.
struct Grid {
  double blocks_per_sm = 0;    ///< of the whole launch, on average
  int resident = 0;            ///< blocks that run on an SM at once
  double bytes_in_flight = 0;  ///< loads of one block
};

/// Number of waves. 1.55: the second wave is about half full.
double waves(const Grid& grid);
/// Read time relative to the time at full bandwidth. The partial last wave has fewer loads in
/// flight than the full waves. `latency_gain` is how many times sooner loads are served, for
/// example by the L2 cache.
double slowdown(const Target& target, const Grid& grid, double latency_gain = 1);
/// The index of the grid that reads fastest, among grids for the same work. That is the first one,
/// unless it has few waves and its last wave idles the memory longer than another grid's.
std::size_t best_in_waves(const Target& target, std::span<const Grid> grids);

}  // namespace sinter
