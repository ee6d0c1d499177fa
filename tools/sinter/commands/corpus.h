// `sinter corpus`: how far every graph of a folder comes, and what it costs.
#pragma once

#include "tools/sinter/commands/command.h"
#include "tools/sinter/files/corpus_file.h"

#include <cstdint>
#include <string>

namespace sinter::command {

struct CorpusArguments {
  std::string directory;
  std::string stage = kCorpusStages[kCorpusStageCount - 1];  ///< the last to go through
  std::string arch = "sm_90";
  std::string only;  ///< files whose name contains it; empty: all
  int jobs = 0;      ///< files at a time; 0: one per core
  std::int64_t limit_elements = 4'000'000;
  bool nvrtc = false;
  bool unfused = false;
  bool json = false;
  bool quiet = false;   ///< no progress
  std::string save;     ///< file for the totals; empty: none
  std::string compare;  ///< file with earlier totals; empty: none
};

/// True unless a file failed or a total fell behind. Throws UsageError where there is no file to
/// look at.
bool corpus(const CorpusArguments& arguments);

void declare_corpus(CLI::App& app, Command& chosen);

}  // namespace sinter::command
