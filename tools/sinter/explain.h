// `sinter explain`: kernels, their cost, and the reason for every boundary, as text, JSON or an
// HTML page.
#pragma once

#include "tools/sinter/arguments.h"
#include "tools/sinter/command.h"

#include <string>

namespace sinter::command {

struct ExplainArguments {
  GraphArguments graph;
  NumericsArguments numerics;
  std::string arch = "sm_90";
  bool json = false;
  std::string html;  ///< a file to write the page to
};

void explain(const ExplainArguments& arguments);

void declare_explain(CLI::App& app, Command& chosen);

}  // namespace sinter::command
