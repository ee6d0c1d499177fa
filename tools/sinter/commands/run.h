// `sinter run`: runs a graph, or a file of `sinter compile`, on given or random inputs, and can
// check the results.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::command {

struct RunArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  std::vector<std::string> inputs;  ///< `x=x.npy`; other inputs are random
  std::string outputs;              ///< folder for the results; empty: none are written
  int repeat = 1;                   ///< number of runs, whose results must have equal bits
  bool graph_replay = false;        ///< replay a CUDA Graph instead of launching kernel by kernel
  bool check = false;
  bool unfused = false;  ///< one kernel per node
  bool json = false;
};

/// False if a check failed or repeated runs differ.
bool run(const RunArguments& arguments);

void declare_run(CLI::App& app, Action& action);

}  // namespace sinter::command
