// `sinter explain`: kernels, their cost, and the reason for every boundary, as text, JSON or an
// HTML page.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <cstdint>
#include <string>

namespace sinter::command {

struct ExplainArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string arch;      ///< empty: that of the GPU that is measured, else sm_90
  bool measure = false;  ///< tune, and time each kernel, too
  std::string device;    ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  int repeats = 15;  ///< timed launches of each kernel
  bool quiet = false;
  bool json = false;
  std::string html;  ///< a file to write the page to
};

void explain(const ExplainArguments& arguments);

void declare_explain(CLI::App& app, Command& chosen);

}  // namespace sinter::command
