// run_case: runs a graph on the virtual GPU, whose driver examines each kernel with all mutations.
#pragma once

#include <string>
#include <vector>

#include "tests/virtual_gpu/mutation/tool/cases.h"

namespace sinter::virtual_gpu::mutation {

/// A line of the examinations: see driver/examinations.h.
struct Examined {
  std::string kernel;
  int number = 0;
  std::string kind;
  int line = 0;
  std::string outcome;
  std::string schedule;
  std::string message;
};

/// Runs the case, checks its results with the oracle, and runs it twice more without a wait of the
/// host between. Returns the outcomes of all mutations; none if no kernel has the candidate. `file` is that of VIRTUAL_GPU_EXAMINE.
/// Throws UserError if an unchanged kernel fails or a result is wrong.
std::vector<Examined> run_case(const Case& one, const std::string& file);

}  // namespace sinter::virtual_gpu::mutation
