// What is known of how fast kernels are: the timing of each candidate is a fact of its own, which
// stays true whatever other candidates come and go.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tuning/autotune.h"
#include "sinter/options.h"
#include "sinter/report.h"

namespace sinter {

/// How one candidate fared at one size.
struct TuningFact {
  double median_us = 0;  ///< of one launch; 0: it was dropped, and `problem` says why
  double lower_quartile_us = 0;
  double upper_quartile_us = 0;
  double gigabytes_per_second = 0;
  /// The median of the default, measured in turns with it: clocks drift from day to day, and what
  /// was measured on different days is compared by way of the default.
  double reference_us = 0;
  std::int64_t blocks = 0;  ///< that the launch asks for
  int rounds = 0;
  int launches = 0;  ///< per measurement
  Tune effort = Tune::quick;
  std::string schedule;  ///< in words, for who reads a tuning file
  std::string problem;
  bool differs = false;  ///< its result was not the default's
  /// The program launched kernels of its own meanwhile, so that these times are only good for who
  /// would have to measure beside the program as well.
  bool was_disturbed = false;

  friend bool operator==(const TuningFact&, const TuningFact&) = default;
};

/// The facts of a kernel at one size.
struct TunedSize {
  std::vector<std::int64_t> numbers;        ///< extents and elements of arrays that it is given
  std::string sizes;                        ///< in words: `rows = 2048`
  std::map<std::string, TuningFact> facts;  ///< by what decides a candidate

  friend bool operator==(const TunedSize&, const TunedSize&) = default;
};

/// All facts of one kernel on one machine.
struct KernelTunings {
  std::vector<TunedSize> sizes;

  /// Null if that size has no facts.
  const TunedSize* at(std::span<const std::int64_t> numbers) const;
  friend bool operator==(const KernelTunings&, const KernelTunings&) = default;
};

/// A kernel with the candidates that it has today, the default first.
struct TuningQuestion {
  std::string kernel;  ///< what decides the kernel and how it is compiled, and the machine
  std::vector<std::int64_t> numbers;
  std::string sizes;
  std::vector<std::string> candidates;  ///< what decides each
  std::vector<std::int64_t> blocks;
  Tune effort = Tune::quick;
  bool is_in_background = false;  ///< so that times which were disturbed are an answer
  /// What is known without measuring: schedules, registers, and why some are not worth it.
  std::vector<CandidateReport> reports;
};

/// Sizes beyond so many that a kernel was tuned for are forgotten, the oldest first.
inline constexpr std::size_t kMostTunedSizes = 32;

/// Texts of facts are cut after so many bytes; no file has longer ones.
inline constexpr std::size_t kLongestTuningText = 1000;

/// Adds what `into` lacks, and what was measured with more effort or, instead of beside something
/// else, by itself.
void merge(KernelTunings& into, const KernelTunings& from);

/// The candidates that must be measured, the default among them; none if all is known.
std::vector<bool> unknown(const TuningQuestion& question, const TunedSize* known);

/// The choice among candidates that are all known; unknown ones take no part.
TuneResult decide(const TuningQuestion& question, const TunedSize& known);

/// The size nearest to that of the question at which all of its candidates are known; null if there
/// is none whose numbers are within a factor of four.
const TunedSize* nearest(const TuningQuestion& question, const KernelTunings& known);

/// What a measurement of some candidates says; `measured` is what `tune` was asked for.
TunedSize facts_of(const TuningQuestion& question, const TuneResult& result,
                   const std::vector<bool>& measured, bool was_disturbed = false);

}  // namespace sinter
