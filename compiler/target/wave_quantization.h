// What the memory gives to a grid of blocks: by the loads that they have in flight, and by the
// waves in which they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compiler/target/target.h"

namespace sinter {

/// Fewer waves of blocks should be whole: the last one, if small, has few loads in flight.
inline constexpr double kFewWaves = 4;
/// A schedule with whole waves comes before another if it takes no more than this of its time.
inline constexpr double kWorthwhile = 0.95;
/// Of the L2 cache: times the memory's bandwidth, and how many times sooner loads are served.
inline constexpr double kNearSpeed = 2;
inline constexpr double kNearLoads = 2.5;
/// What one SM can store, times its share of the memory's bandwidth.
inline constexpr double kStores = 3;
/// States go to the workspace, and the last block sees them.
inline constexpr double kTicketSeconds = 1e-6;
/// Below this a block costs more to start than what it moves.
inline constexpr std::int64_t kLeastBytesOfBlock = 4096;

/// Of the memory's bandwidth, in bytes per second: few loads are served faster than many, which
/// wait for one another. Half as many per SM as the memory needs reach three quarters of it.
double reached(const Target& target, double bytes_in_flight);

/// Blocks of a launch, as SMs get them.
struct Grid {
  double blocks_per_sm = 0;    ///< that it has, on average
  int resident = 0;            ///< that an SM runs at once
  double bytes_in_flight = 0;  ///< of the loads of one block
};

/// How often SMs are filled with blocks; 1.55: the second time about half.
double waves(const Grid& grid);
/// What reading takes against the time at full bandwidth: the last, partial wave has fewer loads in
/// flight than those before it. `nearer`: so many times the loads are served, as by the L2 cache.
double slowdown(const Target& target, const Grid& grid, double nearer = 1);
/// Which of several grids for the same work reads soonest: the first, unless the last of its few
/// waves leaves the memory idle for longer than another's.
std::size_t best_in_waves(const Target& target, std::span<const Grid> grids);

}  // namespace sinter
