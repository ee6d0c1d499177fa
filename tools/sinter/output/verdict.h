// Checks the results of a run against the oracle's bounds, and against the bits of another run.
#pragma once

#include "tools/sinter/commands/run_graph.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::command {

struct Verdict {
  double worst = 0;  ///< error over bound
  std::int64_t undecided = 0;
  bool is_within_bounds = true;
  std::string first_bad;  ///< `y[3, 7]`, the first element beyond its bound; empty if there is none
  std::optional<bool> is_equal_unfused = {};  ///< nullopt if there was no comparison
  std::vector<std::string> lines;
  std::string problem;  ///< the first line that reports a failure; empty if there is none

  bool passes() const { return is_within_bounds && is_equal_unfused.value_or(true); }
};

/// Checks each result of `run` with the oracle, and adds the outcome to `verdict`.
void check_with_oracle(const Graph& graph, const HostArrays& inputs,
                       std::span<const std::int64_t> symbols, const GraphRun& run,
                       Verdict& verdict);

/// Compares the bits of a fused and an unfused run on the same inputs; adds the differences to
/// `verdict`.
void compare_bits(const GraphRun& fused, const GraphRun& unfused, Verdict& verdict);

/// `value`, or the largest finite number for infinity, which JSON does not have.
double finite(double value);

}  // namespace sinter::command
