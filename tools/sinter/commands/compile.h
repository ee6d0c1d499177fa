// `sinter compile`: writes a graph's kernels to a file that `sinter::load` loads without a
// compiler.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <string>

namespace sinter::command {

struct CompileArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string archs;   ///< `sm_80,sm_90`; empty: that of the device
  std::string output;  ///< the file
  bool quiet = false;  ///< no progress
};

void compile_to_file(const CompileArguments& arguments);

void declare_compile(CLI::App& app, Action& action);

}  // namespace sinter::command
