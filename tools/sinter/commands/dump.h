// `sinter dump`: what comes out of one stage of the way from a graph to its kernels.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <string>

namespace sinter::command {

/// The stages that dump knows, in the order of the way.
inline constexpr const char* kDumpStages[] = {"graph", "lower",    "fold",          "simplify",
                                              "fuse",  "schedule", "fuse_launches", "source",
                                              "ptx",   "cubin",    "launch"};

struct DumpArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string stage = "source";
  std::string arch = "sm_90";
  std::string kernel;     ///< number or name; empty: all of them
  std::string directory;  ///< empty: standard output
};

void dump(const DumpArguments& arguments);

void declare_dump(CLI::App& app, Command& chosen);

}  // namespace sinter::command
