// `sinter explain`: reports kernels, their cost and the reason for every boundary, as text, JSON or
// an HTML page.
#pragma once

#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/command.h"

#include <cstdint>
#include <string>

namespace sinter::command {

struct ExplainArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string arch;      ///< empty: the measured GPU if there is one, else sm_90
  bool measure = false;  ///< also tune, and time each kernel
  std::string device;    ///< host or cuda; empty: a GPU if there is one, else the host device
  std::uint64_t seed = 0;
  int repeats = 15;  ///< timed launches of each kernel
  bool quiet = false;
  bool json = false;
  std::string html;  ///< the file to write the page to; empty: none
};

void explain(const ExplainArguments& arguments);

void declare_explain(CLI::App& app, Action& action);

}  // namespace sinter::command
