// `sinter tune`: measures each kernel's candidates, and reports the choice and its reason.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <string>

namespace sinter::command {

struct TuneArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string device;  ///< host or cuda; empty: a GPU if there is one, else the host device
  bool wide = false;   ///< measure longer, at exactly these sizes
  bool quiet = false;  ///< no progress
  bool table = false;  ///< one line per candidate
  std::string import_file;
  std::string export_file;
};

void tune(const TuneArguments& arguments);

void declare_tune(CLI::App& app, Action& action);

}  // namespace sinter::command
