// `sinter run`: runs a graph on random inputs and, if asked to, judges the results.
#pragma once

#include "tools/sinter/arguments.h"
#include "tools/sinter/command.h"

#include <cstdint>
#include <string>

namespace sinter::command {

struct RunArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  bool check = false;
  bool unfused = false;  ///< one kernel per node
  bool json = false;
};

/// True unless a check was asked for and failed.
bool run(const RunArguments& arguments);

void declare_run(CLI::App& app, Command& chosen);

}  // namespace sinter::command
