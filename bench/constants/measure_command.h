// `measure_gpu constants`: measures the constants that the planner assumes, and writes them to a
// target file.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace sinter::constants {

/// Adds the subcommand. Parsing it sets `action`, which returns the exit status.
void declare(CLI::App& app, std::function<int()>& action);

}  // namespace sinter::constants
