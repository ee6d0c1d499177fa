// Judging what a run gave: by the oracle's bounds, and by the bits of another run.
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
  std::string first_bad;  ///< `y[3, 7]`, the first element beyond its bound; empty: none is
  std::optional<bool> is_equal_unfused = {};  ///< none: nobody compared
  std::vector<std::string> lines;
  std::string problem;  ///< the first of the lines that tells of a failure; empty if it passes

  bool passes() const { return is_within_bounds && is_equal_unfused.value_or(true); }
};

/// Adds what the oracle says of each result of `run`.
void judge_by_oracle(const Graph& graph, const HostArrays& inputs,
                     std::span<const std::int64_t> symbols, const GraphRun& run, Verdict& verdict);

/// Adds where a fused and an unfused run of one graph on the same inputs differ in bits.
void compare_bits(const GraphRun& fused, const GraphRun& unfused, Verdict& verdict);

/// JSON has no infinity: the largest number stands for it.
double finite(double value);

}  // namespace sinter::command
