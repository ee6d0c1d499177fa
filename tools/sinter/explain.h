// `sinter explain`: kernels, their cost, and the reason for every boundary, as text or JSON.
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
};

void explain(const ExplainArguments& arguments);

void declare_explain(CLI::App& app, Command& chosen);

}  // namespace sinter::command
