// Loads the program that a command runs: a graph in text form, or a file of `sinter compile`.
#pragma once

#include "sinter/sinter.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinter::command {

struct LoadedProgram {
  Graph graph;
  std::optional<Executable> executable;  ///< nullopt: the graph must be compiled
  Numerics numerics;                     ///< of the executable
  std::vector<std::int64_t> sizes;       ///< of its first variant, by symbol id
};

/// Throws UsageError if the file cannot be read, TextFailure if its text is invalid, and UserError
/// if a saved executable does not run on `device`.
LoadedProgram load_program(const std::string& file, Device device);

}  // namespace sinter::command
