// `sinter bench`: times a graph end to end, or starts a benchmark program that lies beside it.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <cstdint>
#include <string>

namespace sinter::command {

struct BenchArguments {
  GraphArguments graph;  ///< its file may be the name of a suite; empty: the suites are listed
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  int repeats = 15;
  std::string filter;  ///< of a suite: only benchmarks whose name it matches
  bool quiet = false;  ///< no progress
  bool json = false;
  std::string of_graphs;  ///< an option that was given and suites do not have
};

/// False where a benchmark program failed.
bool bench(const BenchArguments& arguments);

void declare_bench(CLI::App& app, Command& chosen);

}  // namespace sinter::command
