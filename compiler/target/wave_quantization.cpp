#include "compiler/target/wave_quantization.h"

#include <algorithm>
#include <cmath>

namespace sinter {

double reached_bandwidth(const Target& target, double bytes_in_flight) {
  const double missing =
      std::max(1 - bytes_in_flight / static_cast<double>(target.bytes_in_flight), 0.0);
  return target.bandwidth * std::max(1 - missing * missing, 1e-3);
}

double waves(const Grid& grid) { return grid.blocks_per_sm / std::max(grid.resident, 1); }

double slowdown(const Target& target, const Grid& grid, double latency_gain) {
  const auto slower = [&](double blocks) {
    return target.bandwidth /
           reached_bandwidth(target, latency_gain * blocks * grid.bytes_in_flight);
  };
  const int resident = std::max(grid.resident, 1);
  const double full = std::floor(waves(grid));
  if (full < 1) return slower(grid.blocks_per_sm);
  const double rest = grid.blocks_per_sm - full * resident;
  const double lost =
      full * resident * (slower(resident) - 1) + (rest > 0 ? rest * (slower(rest) - 1) : 0);
  return 1 + lost / grid.blocks_per_sm;
}

std::size_t best_in_waves(const Target& target, std::span<const Grid> grids) {
  std::size_t best = 0;
  if (waves(grids[0]) <= 1 || waves(grids[0]) >= kFewWaves) return best;
  for (std::size_t i = 1; i < grids.size(); ++i)
    if (slowdown(target, grids[i]) < kWaveGain * slowdown(target, grids[best])) best = i;
  return best;
}

}  // namespace sinter
