// `measure_gpu approximations`: measures the errors of approximate instructions.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace sinter::approximations {

/// Adds the subcommand. Parsing it sets `action`, which returns the exit status.
void declare(CLI::App& app, std::function<int()>& action);

}  // namespace sinter::approximations
