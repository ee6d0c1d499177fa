// `sinter corpus`: takes every graph in a folder through the stages, and reports costs.
#pragma once

#include "tools/sinter/commands/command.h"
#include "tools/sinter/files/corpus_file.h"

#include <cstdint>
#include <string>

namespace sinter::command {

struct CorpusArguments {
  std::string directory;
  std::string stage = kCorpusStages[kCorpusStageCount - 1];  ///< the last stage to run
  std::string arch = "sm_90";
  std::string only;  ///< files whose name contains it; empty: all
  int jobs = 0;      ///< files in parallel; 0: one per core
  std::int64_t limit_elements = 4'000'000;
  bool nvrtc = false;
  bool unfused = false;
  bool json = false;
  bool quiet = false;   ///< no progress
  std::string save;     ///< file for the totals; empty: none
  std::string compare;  ///< file with earlier totals; empty: none
};

/// False if a file failed or a total is worse than the baseline. Throws UsageError if there are no
/// files.
bool corpus(const CorpusArguments& arguments);

void declare_corpus(CLI::App& app, Action& action);

}  // namespace sinter::command
