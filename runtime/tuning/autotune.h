// Autotuning: which of a kernel's candidate schedules is the fastest here. It never changes a bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device_state.h"
#include "runtime/support/cancellation.h"
#include "sinter/options.h"
#include "sinter/report.h"

namespace sinter {

/// A kernel to be tuned, for concrete sizes.
struct TuneRequest {
  const Program& program;
  const Kernel& kernel;
  std::span<const Source> sources;  ///< one per candidate, the default first
  std::span<const Schedule> schedules;
  const CompiledUnit& unit;
  std::span<const std::int64_t> symbols;
  std::int64_t alignment = 16;
  /// Per candidate whether to measure it; empty: all. The default always is.
  std::vector<bool> measured = {};
  /// While the program runs in other threads, perhaps.
  bool is_in_background = false;
  Cancellation cancellation = {};
};

/// From the lowest to the highest of some counts.
struct CountRange {
  int low = INT32_MAX;
  int high = 0;

  void add(int count) {
    low = std::min(low, count);
    high = std::max(high, count);
  }
};

struct TuneResult {
  int chosen = 0;
  std::vector<CandidateReport> candidates;
  std::string summary;  ///< how the choice was made, in a sentence
  int rounds = 0;       ///< that were measured
  int launches = 0;     ///< per measurement
};

/// Runs the candidates on scratch data: each must give the default's bits, else it is dropped; then
/// times them in turns with a cold L2. The default stays unless another is clearly faster. Throws
/// Cancelled, between two launches, where the request says so.
TuneResult tune(DeviceState& device, const TuneRequest& request, Tune effort);

/// How a choice was made: `5 candidates, 1 round of 7 to 10 launches`; without rounds and launches
/// where nothing was measured.
std::string tuning_summary(std::size_t candidates, CountRange rounds, CountRange launches);

/// The sizes in words, `rows = 2048, columns = 64`; empty for a program of fixed sizes.
std::string symbols_text(const Program& program, std::span<const std::int64_t> symbols);

/// The winner by measured times: the lowest median, if that is 2 % below the default's and their
/// quartiles do not overlap; else the default. Candidates with a problem take no part.
int choose(std::span<const CandidateReport> candidates);

}  // namespace sinter
