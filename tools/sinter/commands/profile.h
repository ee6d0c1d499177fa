// `sinter profile`: times each kernel of a graph, and a copy of the same bytes.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <cstdint>
#include <string>

namespace sinter::command {

struct ProfileArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  int repeats = 15;
  bool unfused = false;  ///< one kernel per node
  bool quiet = false;    ///< no progress
  bool json = false;
};

void profile(const ProfileArguments& arguments);

void declare_profile(CLI::App& app, Action& action);

}  // namespace sinter::command
