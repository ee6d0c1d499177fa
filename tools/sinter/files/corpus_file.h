// One graph of a corpus, taken through the stages of the way from its text to its results.
#pragma once

#include "compiler/target/target.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace sinter::command {

/// In the order of the way.
enum class CorpusStage : std::uint8_t { parse, plan, compile, run };

inline constexpr std::size_t kCorpusStageCount = 4;
inline constexpr const char* kCorpusStages[kCorpusStageCount] = {"parse", "plan", "compile", "run"};

/// How every file is treated.
struct CorpusRequest {
  CorpusStage last = CorpusStage::run;
  const Target* target = nullptr;   ///< to plan and compile for; runs are on the host device
  std::int64_t limit_elements = 0;  ///< graphs with a larger value are not run
  bool nvrtc = false;               ///< also compile what is to be run
  bool unfused_only = false;        ///< run without fusion only
};

struct CorpusFile {
  std::string path;
  std::string name;  ///< from the folder of the corpus on
};

/// What planning predicts of the fused kernels together.
struct PlannedCost {
  std::int64_t kernels = 0;
  std::int64_t bytes = 0;
  std::int64_t minimal_bytes = 0;
};

/// What NVRTC made of them.
struct CompiledCost {
  std::int64_t spill_bytes = 0;  ///< per thread, summed over the kernels
  double milliseconds = 0;
  std::set<std::string> codes = {};  ///< those of equal kernels are equal
};

/// How far a file came. What is known of a stage that failed is kept.
struct FileReport {
  std::string name;
  std::optional<CorpusStage> stage;  ///< the last that it came through
  std::string error;                 ///< in one line; empty if nothing failed
  bool is_over_limit = false;        ///< it was to be run, but is too large
  std::optional<PlannedCost> planned;
  std::optional<CompiledCost> compiled;
  std::optional<double> worst_error_over_bound;  ///< of the unfused run
  std::optional<bool> is_equal_unfused;          ///< bits of the fused run
};

/// Never throws: whatever goes wrong becomes the error of the report.
FileReport report_on(const CorpusFile& file, const CorpusRequest& request) noexcept;

}  // namespace sinter::command
