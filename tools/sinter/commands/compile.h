// `sinter compile`: a graph's kernels in a file that `sinter::load` needs no compiler for.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <string>

namespace sinter::command {

struct CompileArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string archs;   ///< `sm_80,sm_90`; empty: the device's own
  std::string output;  ///< the file
  bool quiet = false;  ///< no progress
};

void compile_to_file(const CompileArguments& arguments);

void declare_compile(CLI::App& app, Command& chosen);

}  // namespace sinter::command
