// What a command runs: a graph in text form, or an executable that `sinter compile` wrote.
#pragma once

#include "sinter/sinter.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinter::command {

struct LoadedProgram {
  Graph graph;
  std::optional<Executable> executable;  ///< none: the graph is to be compiled
  Numerics numerics;                     ///< of the executable
  std::vector<std::int64_t> sizes;       ///< that it was first prepared for, by id of the symbol
};

/// Throws UsageError where the file cannot be read, TextFailure where its text is wrong, UserError
/// where a saved executable does not run on `device`.
LoadedProgram load_program(const std::string& file, Device device);

}  // namespace sinter::command
