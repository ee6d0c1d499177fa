// The timings of candidates. Each stays valid when other candidates are added or removed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/tuning/measure_candidates.h"
#include "sinter/options.h"
#include "sinter/report.h"

namespace sinter {

/// The timing of one candidate at one size, or the reason why it was dropped.
struct CandidateTiming {
  double median_us = 0;  ///< of one launch; 0: dropped, see `problem`
  double lower_quartile_us = 0;
  double upper_quartile_us = 0;
  double gigabytes_per_second = 0;
  /// The median of the default in the same measurement. Times of different days are scaled by it,
  /// because clocks drift.
  double reference_us = 0;
  std::int64_t blocks = 0;  ///< of the launch
  int rounds = 0;
  int launches = 0;  ///< per measurement
  Tune effort = Tune::quick;
  std::string schedule;  ///< as text, for readers of a tuning file
  std::string problem;
  bool differs = false;  ///< its bits differed from the default's
  /// The program launched kernels or copied meanwhile. Only background tuning uses these times.
  bool was_disturbed = false;

  friend bool operator==(const CandidateTiming&, const CandidateTiming&) = default;
};

/// The timings of a kernel at one size.
struct TunedSize {
  std::vector<std::int64_t> numbers;  ///< its extent arguments and the sizes of its arrays
  std::string sizes;                  ///< as text: `rows = 2048`
  std::map<std::string, CandidateTiming> timings;  ///< by the hash of a candidate

  friend bool operator==(const TunedSize&, const TunedSize&) = default;
};

/// All timings of one kernel on one machine.
struct KernelTunings {
  std::vector<TunedSize> sizes;

  /// Null if that size has no timings.
  const TunedSize* at(std::span<const std::int64_t> numbers) const;
  friend bool operator==(const KernelTunings&, const KernelTunings&) = default;
};

/// A kernel with its present candidates, the default first.
struct TuningQuery {
  std::string kernel;  ///< hash of the kernel, the compiler and the machine
  std::vector<std::int64_t> numbers;
  std::string sizes;
  std::vector<std::string> candidates;  ///< a hash of each
  std::vector<std::int64_t> blocks;
  Tune effort = Tune::quick;
  bool is_in_background = false;  ///< disturbed times are accepted
  /// Known without measuring: schedules, registers, and why some candidates are ruled out.
  std::vector<CandidateReport> reports;
};

/// The most sizes per kernel. Beyond that the oldest ones are dropped.
inline constexpr std::size_t kMaxTunedSizes = 32;

/// The most bytes of a text in a CandidateTiming. Longer texts are cut, and rejected in files.
inline constexpr std::size_t kMaxTuningTextBytes = 1000;

/// Adds the timings that `into` lacks. Replaces timings by ones with more effort, another grid, or
/// an undisturbed measurement.
void merge(KernelTunings& into, const KernelTunings& from);

/// Per candidate: whether it must be measured. If any must, so must the default.
std::vector<bool> candidates_to_measure(const TuningQuery& query, const TunedSize* known);

/// The choice among the known candidates. Unknown ones are ignored.
TuneResult choose_by_timings(const TuningQuery& query, const TunedSize& known);

/// The nearest size at which all candidates of the query are known. Null if there is none whose
/// numbers are all within a factor of four.
const TunedSize* nearest(const TuningQuery& query, const KernelTunings& known);

/// The timings of a measurement. `measured` says which candidates were measured.
TunedSize timings_of(const TuningQuery& query, const TuneResult& result,
                     const std::vector<bool>& measured, bool was_disturbed = false);

}  // namespace sinter
