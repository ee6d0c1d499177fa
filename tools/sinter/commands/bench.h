// `sinter bench`: times a graph end to end, or runs a benchmark program from the command's folder.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <cstdint>
#include <string>

namespace sinter::command {

struct BenchArguments {
  GraphArguments graph;  ///< the file may be the name of a suite; empty: list the suites
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  int repeats = 15;
  std::string filter;  ///< suites: run only benchmarks whose name matches
  bool quiet = false;  ///< no progress
  bool json = false;
  std::string graph_only_option;  ///< a given option that suites do not have; empty: none
};

/// Throws UserError if a benchmark program fails.
void bench(const BenchArguments& arguments);

void declare_bench(CLI::App& app, Action& action);

}  // namespace sinter::command
