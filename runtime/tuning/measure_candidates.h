// Measures the candidate schedules of a kernel. The choice changes no bit of a result.
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
  /// Per candidate: whether to measure it. Empty: all. The default is always measured.
  std::vector<bool> measured = {};
  /// The program may run in other threads meanwhile.
  bool is_in_background = false;
  Cancellation cancellation = {};
};

/// The lowest and the highest of several counts.
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
  std::string summary;  ///< how the choice was made
  int rounds = 0;       ///< measured rounds
  int launches = 0;     ///< per measurement
};

/// The default of the request as the choice, without times.
TuneResult unmeasured(const TuneRequest& request, std::string summary);

/// Runs the candidates on scratch buffers and drops those whose bits differ from the default's.
/// Then times the others in turns with a cold L2. A program may run and replay a kernel. The time of
/// a candidate that starts early is therefore the mean of launches in a stream and as graph nodes.
/// The default stays unless another is clearly faster. Throws Cancelled between two launches if the
/// request is cancelled.
TuneResult measure_candidates(DeviceState& device, const TuneRequest& request, Tune effort);

/// A summary of a choice: `5 candidates, 1 round of 7 to 10 launches`. Without rounds and launches
/// if nothing was measured.
std::string tuning_summary(std::size_t candidates, CountRange rounds, CountRange launches);

/// The sizes as text, `rows = 2048, columns = 64`; `if_none` for a program of fixed sizes.
std::string symbols_text(const Program& program, std::span<const std::int64_t> symbols,
                         std::string_view if_none);

/// The index of the winner: the lowest median, if it is at least 2 % below the default's and their
/// quartiles do not overlap. Otherwise the default. Candidates with a problem are ignored.
int clear_winner(std::span<const CandidateReport> candidates);

/// Makes `candidate` the choice.
void choose(TuneResult& result, int candidate);

}  // namespace sinter
