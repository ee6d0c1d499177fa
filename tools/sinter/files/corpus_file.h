// Takes one graph of a corpus through the stages from its text to its results.
#pragma once

#include "compiler/target/target.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace sinter::command {

/// In order of execution.
enum class CorpusStage : std::uint8_t { parse, plan, compile, run };

inline constexpr std::size_t kCorpusStageCount = 4;
inline constexpr const char* kCorpusStages[kCorpusStageCount] = {"parse", "plan", "compile", "run"};

/// The settings for all files.
struct CorpusRequest {
  CorpusStage last = CorpusStage::run;
  const Target* target = nullptr;   ///< to plan and compile for; runs are on the host device
  std::int64_t limit_elements = 0;  ///< graphs with a larger value are not run
  bool nvrtc = false;               ///< also compile with NVRTC before the run
  bool unfused_only = false;        ///< run without fusion only
};

struct CorpusFile {
  std::string path;
  std::string name;  ///< the path relative to the folder of the corpus
};

/// The predicted cost of all fused kernels of a graph.
struct PlannedCost {
  std::int64_t kernels = 0;
  std::int64_t bytes = 0;
  std::int64_t minimal_bytes = 0;
};

/// The results of compiling these kernels with NVRTC.
struct CompiledCost {
  std::int64_t spill_bytes = 0;  ///< per thread, summed over the kernels
  double milliseconds = 0;
  std::set<std::string> codes = {};  ///< equal kernels have equal code
};

/// The results for one file, including the known figures of a stage that failed.
struct FileReport {
  std::string name;
  std::optional<CorpusStage> stage;  ///< the last stage that succeeded
  std::string error;                 ///< one line; empty if nothing failed
  bool is_over_limit = false;        ///< too large to run
  std::optional<PlannedCost> planned;
  std::optional<CompiledCost> compiled;
  std::optional<double> worst_error_over_bound;  ///< of the unfused run
  std::optional<bool> is_equal_unfused;          ///< bits of the fused run
};

/// Never throws; an exception becomes the error of the report.
FileReport run_corpus_file(const CorpusFile& file, const CorpusRequest& request) noexcept;

}  // namespace sinter::command
