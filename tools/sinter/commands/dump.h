// `sinter dump`: shows the result of one compilation stage.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <string>

namespace sinter::command {

/// The stages that dump knows, in the order of compilation.
inline constexpr const char* kDumpStages[] = {"graph", "lower",    "fold",          "simplify",
                                              "fuse",  "schedule", "fuse_launches", "source",
                                              "ptx",   "cubin",    "launch"};

struct DumpArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string stage = "source";
  std::string arch = "sm_90";
  std::string kernel;     ///< index or name; empty: all kernels
  std::string directory;  ///< empty: standard output
};

void dump(const DumpArguments& arguments);

void declare_dump(CLI::App& app, Action& action);

}  // namespace sinter::command
